"""Intervals hold the value, come from a seed, and keep rare classes."""

from __future__ import annotations

import numpy as np
import pytest

from gtea.errors import DataError
from gtea.tasks import metrics as m
from gtea.tasks.uncertainty import Interval, bootstrap_interval, mean_and_std, mean_interval


def test_bootstrap_is_seeded_and_holds_the_value() -> None:
    rng = np.random.default_rng(3)
    truth, scores = rng.random(200) < 0.2, np.round(rng.random(200), 2)
    first = bootstrap_interval(m.average_precision, truth, scores, strata=truth, num_resamples=200, seed=5)
    assert first == bootstrap_interval(m.average_precision, truth, scores, strata=truth, num_resamples=200, seed=5)
    assert first != bootstrap_interval(m.average_precision, truth, scores, strata=truth, num_resamples=200, seed=6)
    assert first.low < first.value < first.high


def test_bootstrap_of_a_mean_is_about_two_standard_errors_wide() -> None:
    values = np.random.default_rng(0).normal(size=400)
    interval = bootstrap_interval(lambda sample: float(sample.mean()), values, num_resamples=2000)
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)


def test_strata_keep_a_single_positive_in_every_draw() -> None:
    truth = np.arange(50) == 0
    interval = bootstrap_interval(m.average_precision, truth, np.linspace(1, 0, 50), strata=truth, num_resamples=50)
    assert interval.value == interval.high == 1


def test_mean_and_std() -> None:
    assert mean_and_std([1.0, 2.0, 3.0]) == (2.0, 1.0)
    assert mean_and_std([0.5]) == (0.5, 0.0)
    with pytest.raises(DataError, match="values: must be at least one number"):
        mean_and_std([])


# From tables of Student's distribution: degrees of freedom, level, quantile.
@pytest.mark.parametrize(
    ("freedom", "level", "quantile"),
    [
        (1, 0.95, 12.7062),
        (2, 0.95, 4.3027),
        (3, 0.99, 5.8409),
        (4, 0.9, 2.1318),
        (9, 0.95, 2.2622),
        (120, 0.95, 1.9799),
    ],
)
def test_the_interval_of_a_mean_is_students(freedom: int, level: float, quantile: float) -> None:
    values = np.random.default_rng(freedom).normal(3, 2, freedom + 1)
    found = mean_interval(values.tolist(), level=level)
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert found.value == pytest.approx(values.mean())
    assert (found.high - found.value) / error == pytest.approx(quantile, abs=1e-4)
    assert (found.value - found.low) / error == pytest.approx(quantile, abs=1e-4)


def test_the_interval_of_a_mean_needs_two_numbers() -> None:
    assert mean_interval([0.5, 0.5]) == Interval(0.5, 0.5, 0.5)
    with pytest.raises(DataError, match=r"values: must be at least two numbers \(got 1\)\. Repeat the measurement\."):
        mean_interval([0.5])
