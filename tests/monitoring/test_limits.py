"""Each limit is crossed by what is above it, and by nothing that chance explains."""

from __future__ import annotations

import pytest

from gtea.errors import UsageError
from gtea.monitoring.drift import Drift
from gtea.monitoring.limits import Limits


def test_drift_counts_above_its_limit_and_above_chance() -> None:
    limits = Limits()
    assert limits.of_drift("d", "scores", Drift(0.3, 0.1), of_scores=True)[0].limit == "--max-score-drift"
    assert limits.of_drift("d", "amount", Drift(0.3, 0.1), of_scores=False)[0].limit == "--max-feature-drift"
    assert limits.of_drift("d", "scores", Drift(0.3, 0.4), of_scores=True) == []
    assert limits.of_drift("d", "scores", Drift(0.25, 0.1), of_scores=True) == []
    assert Limits(score_drift=None).of_drift("d", "scores", Drift(9, 0), of_scores=True) == []


@pytest.mark.parametrize(
    ("alerts", "accounts", "share", "crossed"),
    [(40, 1000, 0.01, 1), (12, 1000, 0.01, 0), (4, 100, 0.01, 0), (0, 1000, 0.01, 1), (0, 100, 0.01, 0), (3, 9, 0, 1)],
)
def test_alerts_are_held_against_those_to_expect(alerts: int, accounts: int, share: float, crossed: int) -> None:
    assert len(Limits().of_alerts("d", alerts, accounts, share)) == crossed


def test_a_number_of_alerts_can_be_set() -> None:
    assert Limits(alerts=10).of_alerts("d", 11, 1000, 0.01)[0].limit == "--max-alerts"
    assert Limits(alerts=11, alert_ratio=None).of_alerts("d", 11, 10, 0.01) == []


def test_accounts_that_training_never_saw() -> None:
    assert Limits().of_unseen("d", 2, 2) == []
    assert Limits().of_unseen("d", 90, 100)[0].value == 0.9
    assert Limits(unseen=0.95).of_unseen("d", 90, 100) == []


def test_calibration() -> None:
    assert Limits().of_calibration(0.2, 0.3, 0.01)[0].limit == "--max-calibration"
    assert Limits().of_calibration(0.2, 0.3, 0.05) == []
    assert Limits().of_calibration(0.2, 0.24, 0.001) == []


@pytest.mark.parametrize("wrong", [{"unseen": -1}, {"score_drift": float("nan")}, {"alert_ratio": 0.5}])
def test_a_limit_is_a_number(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=r"--max-\S+: must be a number from \d on, or none"):
        Limits(**wrong)  # type: ignore[arg-type]
