from __future__ import annotations

import numpy as np
import pytest

from gtea.datasets.world_accounts import LARGE_SHARE, Period, Population, Start, form_population

YEAR = 365


def accounts(
    count: int = 1_000,
    illicit: int = 200,
    *,
    start: Start = "spread",
    growth: float = 0.0,
    prior_shift: float = 0.0,
    seed: int = 0,
) -> Population:
    return form_population(count, illicit, YEAR, start, growth, prior_shift, seed)


@pytest.mark.parametrize("drift", [0.0, 0.3, 1.0])
def test_work_is_the_integral_of_the_rate_and_day_of_its_inverse(drift: float) -> None:
    period, day = Period(YEAR, drift), np.linspace(0, YEAR, 12)
    steps = (np.arange(100_000) + 0.5) / 100_000
    naive = [(x * (1 + 2 * drift * x * steps)).mean() for x in day / YEAR]
    np.testing.assert_allclose(period.work(day), naive, atol=1e-9)
    np.testing.assert_allclose(period.day_of(period.work(day)), day, atol=1e-9)


def test_drift_raises_amounts_and_brings_the_classes_closer() -> None:
    ends = np.array([0.0, YEAR])
    np.testing.assert_allclose(Period(YEAR, 1.0).inflation(ends), [0, 1])
    np.testing.assert_allclose(Period(YEAR, 1.0).fading(ends), [1, 0.5])
    np.testing.assert_allclose(Period(YEAR, 0.0).fading(ends), [1, 1])


def test_accounts_are_in_the_order_in_which_they_appear_and_leave() -> None:
    for growth in (0.0, 0.4, 1.0):
        drawn = accounts(growth=growth)
        assert (np.diff(drawn.first) >= 0).all()
        assert (np.diff(drawn.last) >= -1e-9).all()
        assert drawn.last.max() < YEAR


def test_growth_is_how_long_accounts_stay() -> None:
    fixed, half, forever = (accounts(growth=growth) for growth in (0.0, 0.5, 1.0))
    np.testing.assert_allclose(fixed.last - fixed.first, YEAR / 4)
    assert np.ptp(forever.last) == 0
    np.testing.assert_allclose(half.last, (fixed.last + forever.last) / 2)


def test_accounts_start_throughout_the_period_or_together() -> None:
    spread, together = accounts(start="spread"), accounts(start="together")
    counts = np.histogram(spread.first, 5, (0, 0.74 * YEAR))[0]
    assert counts.min() > 150
    assert together.first.max() < 0.02 * YEAR


@pytest.mark.parametrize(("count", "illicit"), [(1_000, 200), (51, 26), (51, 1), (7_777, 8)])
@pytest.mark.parametrize("prior_shift", [0.0, 0.5, 1.0])
def test_the_number_of_illicit_accounts_is_exact(count: int, illicit: int, prior_shift: float) -> None:
    assert accounts(count, illicit, prior_shift=prior_shift).illicit.sum() == illicit


@pytest.mark.parametrize(("prior_shift", "shares"), [(0.0, (0.2, 0.2)), (0.5, (0.15, 0.25)), (1.0, (0.1, 0.3))])
def test_prior_shift_raises_the_share_of_illicit_accounts_over_time(
    prior_shift: float, shares: tuple[float, float]
) -> None:
    illicit = accounts(20_000, 4_000, prior_shift=prior_shift).illicit
    np.testing.assert_allclose([illicit[:10_000].mean(), illicit[10_000:].mean()], shares, atol=0.015)


def test_a_quarter_is_large_in_either_class() -> None:
    drawn = accounts(20_000, 4_000, prior_shift=1.0)
    assert drawn.large.mean() == LARGE_SHARE
    assert abs(drawn.large[drawn.illicit].mean() - LARGE_SHARE) < 0.03
