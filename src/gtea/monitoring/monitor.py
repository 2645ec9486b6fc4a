"""Monitor a model: the latest days against those before its training cut.

The reference is computed from the store as of the training cut, and not kept in the model: so any model can be
monitored, and the reference is made by the same code as what it is compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.errors import UsageError
from gtea.monitoring.day_values import DayValues, day_values
from gtea.monitoring.days import find_days, training_cut
from gtea.monitoring.drift import Drift, NumberBins, WordBins, drift
from gtea.monitoring.label_check import check_labels
from gtea.monitoring.limits import Crossing, Limits
from gtea.monitoring.monitor_page import render_monitor
from gtea.report.case_writer import write_text
from gtea.runtime.files import locked, write_json
from gtea.runtime.progress import Progress, no_progress
from gtea.scoring.edge_cache import model_digest
from gtea.scoring.options import ScoringOptions
from gtea.scoring.scorer import NodeModel
from gtea.store.store import Store

PAGE, RECORD = "index.html", "monitor.json"
_PATIENCE = 10.0


@dataclass(frozen=True)
class MonitorOptions:
    """What to look at, and what is allowed."""

    as_of: str | None = None
    labels: Any = None
    """A table of labels that came in; None for none."""
    days: int = 14
    """How many days, and how many before the training cut as reference."""
    checked_days: int = 1
    """How many of the latest days are held against the limits."""
    steps_per_day: int = 1
    trained_as_of: str | None = None
    """The training cut, for a model that doesn't say it."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.days < 1 or self.steps_per_day < 1 or not 1 <= self.checked_days <= self.days:
            raise UsageError(
                "--days, --checked-days, --steps-per-day: must be at least 1, and no more days checked than shown "
                f"(got {self.days}, {self.checked_days} and {self.steps_per_day}). Try 14, 1 and 1."
            )


def monitor(
    model: Path,
    store: Path,
    out: Path,
    options: MonitorOptions,
    *,
    device: torch.device,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Write the page and the figures into a folder; returns the figures. The page is there once both are complete."""
    _require_own(out)
    ready, opened = NodeModel.open(model, device), Store.open(store)
    view = opened.as_of(options.as_of)
    days = find_days(
        view, training_cut(ready.saved, opened, options.trained_as_of), options.days, options.steps_per_day
    )
    scoring = ready.supported(ScoringOptions())
    found: list[DayValues] = []
    for number, day in enumerate((*days.reference, *days.recent)):
        progress("looking at days", number / (len(days.reference) + len(days.recent)))
        found.append(day_values(opened, ready, day, days.training_cut, scoring))
    before, recent = found[: len(days.reference)], found[len(days.reference) :]
    reference = _Reference.of(before, opened)
    rows = [reference.compare(values) for values in recent]
    checked = rows[-options.checked_days :]
    crossed = [crossing for row in checked for crossing in reference.crossings(row, options.limits)]
    calibration = None
    if options.labels is not None:
        progress("looking at labels", None)
        calibration = check_labels(options.labels, ready, view, days.length, scoring)
        if calibration["used"]:
            figures = (calibration[name] for name in ("predicted", "observed", "standard_error"))
            crossed += options.limits.of_calibration(*figures)
    record = {
        "model": model.name,
        "model_digest": model_digest(ready.saved),
        "store": store.name,
        "as_of": view.cut,
        "as_of_date": opened.date(view.cut),
        "training_cut": days.training_cut,
        "training_cut_date": opened.date(days.training_cut),
        "reference": reference.to_json(),
        "days": [row.to_json(is_checked=row in checked) for row in rows],
        "calibration": calibration,
        "limits": options.limits.to_json(),
        "crossed": [crossing.to_json() for crossing in crossed],
    }
    busy = UsageError(f"{out}: another gtea monitor is writing there. Wait for it, or choose another --out.")
    with locked(out, busy, timeout=_PATIENCE):
        write_json(out / RECORD, record)
        write_text(out / PAGE, render_monitor(record))
    return record


def _require_own(out: Path) -> None:
    """Refuse a folder that has a page of somebody else's, such as a report: it would be replaced."""
    if not (out / PAGE).exists() or (out / RECORD).exists():
        return
    raise UsageError(f"{out}: has an {PAGE} that is not of gtea monitor. Choose another --out, or remove it.")


@dataclass(frozen=True)
class _Compared:
    """A day and its drift."""

    values: DayValues
    score: Drift
    features: Mapping[str, Drift]

    def to_json(self, *, is_checked: bool) -> dict[str, Any]:
        values, accounts = self.values, len(self.values.nodes)
        return {
            "day": values.day.name,
            "from": values.day.start,
            "to": values.day.stop,
            "checked": is_checked,
            "accounts": accounts,
            "events": values.num_events,
            "score_drift": self.score.to_json(),
            "mean_score": float(values.scores.mean()) if accounts else None,
            "alerts": values.alerts,
            "alert_share": None if values.alerts is None or not accounts else values.alerts / accounts,
            "unseen": values.unseen,
            "unseen_share": values.unseen / accounts if accounts else None,
            "feature_drift": {name: found.to_json() for name, found in self.features.items()},
        }


@dataclass(frozen=True)
class _Reference:
    """The days before the training cut, pooled."""

    days: Sequence[DayValues]
    num_accounts: int
    """Different ones: an account that is active on two days is no new evidence."""
    scores: tuple[NumberBins, NDArray[np.int64]]
    columns: Mapping[str, tuple[NumberBins | WordBins, NDArray[np.int64]]]

    @staticmethod
    def of(days: Sequence[DayValues], store: Store) -> _Reference:
        accounts = np.unique(np.concatenate([each.nodes for each in days]))
        if not len(accounts):
            raise UsageError(
                f"--days: no account has an event in the days before the training cut, from {days[0].day.name} on, to "
                "compare with. Give more days."
            )
        scores = np.concatenate([each.scores for each in days])
        bins: dict[str, tuple[NumberBins | WordBins, NDArray[np.int64]]] = {}
        for name in days[0].columns:
            bins[name] = _fitted(NumberBins.fit, np.concatenate([each.columns[name] for each in days]))
        for name in days[0].words:
            bins[name] = _fitted(WordBins.fit, np.concatenate([each.words[name] for each in days]))
        of_scores = NumberBins.fit(scores)
        return _Reference(days, len(accounts), (of_scores, of_scores.count(scores)), bins)

    def compare(self, values: DayValues) -> _Compared:
        num_tests = 1 + len(self.columns)
        independent = len(values.nodes), self.num_accounts

        def compared(bins: NumberBins | WordBins, counts: NDArray[np.int64], found: NDArray[Any]) -> Drift:
            return drift(bins.count(found), counts, independent, num_tests)

        every: dict[str, NDArray[Any]] = {**values.columns, **values.words}
        features = {name: compared(*pair, every[name]) for name, pair in self.columns.items()}
        return _Compared(values, compared(*self.scores, values.scores), features)

    def crossings(self, row: _Compared, limits: Limits) -> list[Crossing]:
        """The limits that a day crosses. On a day without events, nothing can be told but that."""
        values, day = row.values, row.values.day.name
        if not len(values.nodes):
            return []
        found = limits.of_drift(day, "scores", row.score, of_scores=True)
        for name, each in row.features.items():
            found += limits.of_drift(day, name, each, of_scores=False)
        share = self.alert_share
        if values.alerts is not None and share is not None:
            found += limits.of_alerts(day, values.alerts, len(values.nodes), share)
        return found + limits.of_unseen(day, values.unseen, len(values.nodes))

    @property
    def alert_share(self) -> float | None:
        """The share of active accounts that were alerts; None if the model has no threshold."""
        alerts = [each.alerts for each in self.days if each.alerts is not None]
        return sum(alerts) / max(sum(len(each.nodes) for each in self.days), 1) if alerts else None

    def to_json(self) -> dict[str, Any]:
        return {
            "days": len(self.days),
            "from": self.days[0].day.name,
            "to": self.days[-1].day.name,
            "accounts": self.num_accounts,
            "events": sum(each.num_events for each in self.days),
            "alert_share": self.alert_share,
        }


def _fitted(
    fit: Callable[[NDArray[Any]], NumberBins | WordBins], values: NDArray[Any]
) -> tuple[NumberBins | WordBins, NDArray[np.int64]]:
    bins = fit(values)
    return bins, bins.count(values)
