"""PSI against its definition in a loop, and how large chance makes it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gtea.monitoring.drift import NumberBins, WordBins, drift, poisson_tails


def naive_psi(counts: list[int], reference: list[int]) -> float:
    pairs = [(a + 0.5, b + 0.5) for a, b in zip(counts, reference, strict=True) if a + b]
    one, other = sum(a for a, _ in pairs), sum(b for _, b in pairs)
    return sum((a / one - b / other) * math.log((a / one) / (b / other)) for a, b in pairs)


@pytest.mark.parametrize("seed", range(20))
def test_psi_is_its_definition(seed: int) -> None:
    draw = np.random.default_rng(seed)
    counts, reference = draw.integers(0, 30, 12), draw.integers(0, 300, 12)
    found = drift(counts, reference, (100, 100), 1)
    assert found.psi == pytest.approx(naive_psi(counts.tolist(), reference.tolist()), rel=1e-12)
    assert found.psi >= 0


def test_equal_shares_have_no_drift_and_nothing_has_none() -> None:
    assert drift(np.array([10, 20]), np.array([10, 20]), (30, 30), 1).psi == pytest.approx(0)
    assert drift(np.array([0, 0]), np.array([5, 5]), (0, 10), 1).psi == 0
    assert drift(np.array([5]), np.array([7]), (5, 7), 1).psi == 0


def test_bins_hold_tenths_atoms_and_nan() -> None:
    values = np.concatenate([np.zeros(500), np.arange(1, 501), [np.nan] * 5])
    bins = NumberBins.fit(values)
    counts = bins.count(values)
    assert counts.sum() == len(values)
    assert counts[-1] == 5
    assert 500 in counts  # zero has a bin of its own
    assert counts.max() == 500
    assert bins.count(np.array([-1.0, 0.0, 1e9, np.inf, -np.inf])).sum() == 5
    assert drift(bins.count(np.ones(50) * 1e-9), counts, (50, 1000), 1).psi > 1


def test_a_constant_is_told_from_anything_else() -> None:
    bins = NumberBins.fit(np.full(50, 7.0))
    assert drift(bins.count(np.full(30, 7.0)), bins.count(np.full(50, 7.0)), (30, 50), 1).psi == 0
    assert drift(bins.count(np.full(30, 7.5)), bins.count(np.full(50, 7.0)), (30, 50), 1).psi > 1
    assert NumberBins.fit(np.array([np.nan])).count(np.array([1.0, np.nan])).tolist() == [1, 1]


def test_words_that_the_reference_never_had_have_a_bin() -> None:
    reference = np.repeat(np.arange(30), np.arange(30) + 1)
    bins = WordBins.fit(reference)
    counts = bins.count(reference)
    assert counts.tolist() == [*range(11, 31), sum(range(1, 11)), 0]
    assert bins.count(np.array([99, 99, 5, 29])).tolist() == [*[0] * 19, 1, 1, 2]


@pytest.mark.parametrize(("size", "bins"), [(30, 10), (300, 10), (300, 40)])
def test_chance_alone_hardly_ever_counts(size: int, bins: int) -> None:
    draw = np.random.default_rng(0)
    share = np.full(bins, 1 / bins)
    certain = sum(
        drift(draw.multinomial(size, share), draw.multinomial(2000, share), (size, 2000), 1).is_certain
        for _ in range(3000)
    )
    assert certain <= 20  # 0.1 % of 3000 are 3


def test_a_real_change_counts() -> None:
    draw = np.random.default_rng(0)
    bins = NumberBins.fit(draw.normal(size=5000))
    reference = bins.count(draw.normal(size=5000))
    assert drift(bins.count(draw.normal(1, 1, 200)), reference, (200, 5000), 100).is_certain
    assert not drift(bins.count(draw.normal(0, 1, 200)), reference, (200, 5000), 100).is_certain


@pytest.mark.parametrize(("count", "mean"), [(0, 3.0), (3, 3.0), (9, 2.5), (40, 20.0), (5, 1e-9), (2000, 1900.0)])
def test_poisson_tails_are_sums(count: int, mean: float) -> None:
    each = [math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(count + 1)]
    few, many = poisson_tails(count, mean)
    assert few == pytest.approx(sum(each), abs=1e-9)
    assert many == pytest.approx(1 - sum(each[:-1]), abs=1e-9)
