"""The smallest set without which there is no alert, against all sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from gtea.explain.effect import Effects
from gtea.explain.scored import Scored
from gtea.explain.what_if import Removal, SearchLimits, is_alert, smallest_removal

Score = Callable[[frozenset[int]], float]
ALL = SearchLimits(24, 12)


class Made(Effects):
    """Effects by a formula of who is gone."""

    def __init__(self, count: int, score: Score) -> None:
        self.partners, self.ends = np.arange(count), np.zeros(count, dtype=np.int64)
        self._score = score

    def _without(self, sets: list[NDArray[np.int64]]) -> NDArray[np.float64]:
        return np.array([[self._score(frozenset(some.tolist()))] for some in sets])

    def without_events(self, partner: int, sets: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
        raise NotImplementedError


def scored(count: int, score: Score) -> Scored:
    effects = Made(count, score)
    return Scored(effects, 0, score(frozenset()), effects.without(list(np.arange(count)[:, None]))[:, 0], count)


def smallest(count: int, score: Score) -> int:
    """By trying all sets."""
    return next(
        size
        for size in range(1, count + 1)
        if size == count or min(score(frozenset(some)) for some in combinations(range(count), size)) < 0.5
    )


@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_smallest_of_all(seed: int) -> None:
    generator = np.random.default_rng(seed)
    effects, joint = generator.normal(0.1, 0.1, 7), generator.normal(0, 0.1, (7, 7))

    def score(gone: frozenset[int]) -> float:
        some = sorted(gone)
        return float(0.9 - effects[some].sum() - joint[np.ix_(some, some)].sum())

    subject = scored(7, score)
    found = smallest_removal(subject, 0.5, ALL)
    assert found.is_smallest
    assert len(found.chosen) == smallest(7, score)
    assert not is_alert(subject, found, 0.5)
    assert found.score == pytest.approx(score(frozenset(found.chosen.tolist())))


def test_greedy_alone_says_that_nothing_is_proven() -> None:
    def score(gone: frozenset[int]) -> float:
        return 0.9 - 0.15 * len(gone & {0, 1, 2}) - (0.6 if {3, 4, 5} <= gone else 0.01 * len(gone & {3, 4, 5}))

    subject = scored(6, score)
    found = smallest_removal(subject, 0.46, ALL)
    assert (sorted(found.chosen.tolist()), found.is_smallest) == ([0, 1, 2], True)
    assert not smallest_removal(subject, 0.46, SearchLimits(24, 2)).is_smallest


def test_long_sets_are_found_by_bisection() -> None:
    subject = scored(100, lambda gone: 0.9 - 0.01 * len(gone))
    found = smallest_removal(subject, 0.5, ALL)
    assert len(found.chosen) in (40, 41)
    assert not found.is_smallest


def test_an_account_without_dealings_is_no_alert() -> None:
    subject = scored(3, lambda gone: 0.9)
    found = smallest_removal(subject, 0.5, ALL)
    assert len(found.chosen) == 3
    assert is_alert(subject, Removal(np.arange(2), 0.9), 0.5)
    assert not is_alert(subject, found, 0.5)
