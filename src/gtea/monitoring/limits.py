"""The limits of a monitored model, and which of them a day crosses.

A limit is crossed only if chance does not explain it: a quiet day of thirty accounts has an odd histogram and one alert
more or less without anything being wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from gtea.errors import UsageError
from gtea.monitoring.drift import Drift, poisson_tails

_CHANCE = 0.001


@dataclass(frozen=True)
class Crossing:
    """A limit that was crossed."""

    limit: str
    """The option that sets it."""
    day: str
    subject: str
    value: float
    allowed: float
    text: str

    def to_json(self) -> dict[str, Any]:
        """For monitor.json."""
        return vars(self)


@dataclass(frozen=True)
class Limits:
    """What is allowed. Each is an option of ``gtea monitor``; None turns a limit off."""

    score_drift: float | None = 0.25
    feature_drift: float | None = 0.25
    alert_ratio: float | None = 3.0
    """So many times the alerts to expect, or one of so many."""
    alerts: int | None = None
    unseen: float | None = 0.5
    calibration: float | None = 0.05

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            lowest = 1 if field.name == "alert_ratio" else 0
            if value is not None and not lowest <= value < float("inf"):
                option = field.name.replace("_", "-")
                raise UsageError(f"--max-{option}: must be a number from {lowest} on, or none (got {value}). Try 0.5.")

    def of_drift(self, day: str, subject: str, found: Drift, *, of_scores: bool) -> list[Crossing]:
        """What the drift of scores or of a feature crosses."""
        allowed = self.score_drift if of_scores else self.feature_drift
        if allowed is None or found.psi <= allowed or not found.is_certain:
            return []
        name = "--max-score-drift" if of_scores else "--max-feature-drift"
        text = f"{subject}: PSI {found.psi:.3f} against the days before training, above {allowed:g}"
        return [Crossing(name, day, subject, found.psi, allowed, text)]

    def of_alerts(self, day: str, alerts: int, accounts: int, expected_share: float) -> list[Crossing]:
        """What the number of alerts crosses."""
        found = []
        if self.alerts is not None and alerts > self.alerts:
            text = f"{alerts:,} alerts, above {self.alerts:,}"
            found.append(Crossing("--max-alerts", day, "alerts", alerts, self.alerts, text))
        expected = max(expected_share * accounts, 1e-9)
        few, many = poisson_tails(alerts, expected)
        if self.alert_ratio is None:
            return found
        if alerts > self.alert_ratio * expected and many < _CHANCE:
            text = f"{alerts:,} alerts of {accounts:,} active accounts, where {expected:,.1f} were to be expected"
            found.append(Crossing("--max-alert-ratio", day, "alerts", alerts / expected, self.alert_ratio, text))
        elif alerts * self.alert_ratio < expected and few < _CHANCE:
            text = f"only {alerts:,} alerts of {accounts:,} active accounts, where {expected:,.1f} were to be expected"
            found.append(Crossing("--max-alert-ratio", day, "alerts", alerts / expected, 1 / self.alert_ratio, text))
        return found

    def of_unseen(self, day: str, unseen: int, accounts: int) -> list[Crossing]:
        """What the share of accounts that training never saw crosses."""
        share = unseen / accounts
        if self.unseen is None or share <= self.unseen or poisson_tails(unseen, self.unseen * accounts)[1] >= _CHANCE:
            return []
        text = f"{share:.0%} of the active accounts were never seen in training, above {self.unseen:.0%}"
        return [Crossing("--max-unseen", day, "unseen accounts", share, self.unseen, text)]

    def of_calibration(self, predicted: float, observed: float, error: float) -> list[Crossing]:
        """What the difference between predicted and observed positives crosses.

        Args:
            error: The standard error of the observed share, if the predictions are right.
        """
        gap = abs(predicted - observed)
        if self.calibration is None or gap <= self.calibration or gap <= 3 * error:
            return []
        text = f"predicted {predicted:.1%} positives and {observed:.1%} came, more than {self.calibration:.0%} apart"
        return [Crossing("--max-calibration", "", "calibration", gap, self.calibration, text)]

    def to_json(self) -> dict[str, Any]:
        """For monitor.json, by option."""
        return {f"--max-{name.replace('_', '-')}": value for name, value in vars(self).items()}
