"""What would have to be different: the smallest set of counterparties without which an account is no alert.

A greedy search removes, in each step, the counterparty that lowers the score most, given those that are gone. A set of
one or two is the smallest there is, because every single counterparty has been tried. A larger one is proven to be the
smallest by trying all smaller sets of the counterparties that matter, if these are few.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.explain.scored import Scored

_LONGEST = 12
"""Greedy sets have at most this size. Larger ones are made in the order of the counterparties' own effects."""
_MATTERS = 1e-6
"""A counterparty matters if the score changes by this much without it."""


class SearchLimits(NamedTuple):
    """How much is tried."""

    candidates: int
    """How many counterparties are tried in each greedy step."""
    all_tried: int
    """Up to this many counterparties that matter, all sets of them are tried."""


class Removal(NamedTuple):
    """A set of counterparties, and the score without it."""

    chosen: NDArray[np.int64]
    score: float
    is_smallest: bool = False
    """Whether it is proven to be the smallest."""


def smallest_removal(scored: Scored, threshold: float, limits: SearchLimits) -> Removal:
    """The smallest set found without which an alert is none."""
    found = _greedy(scored, threshold, limits.candidates)
    if len(found.chosen) <= 2:
        return found._replace(is_smallest=True)
    matters = np.flatnonzero(np.abs(scored.without - scored.score) > _MATTERS)
    if len(matters) > limits.all_tried:
        return found
    for size in range(2, min(len(found.chosen), len(matters) + 1)):
        best = _best(scored, [np.array(some) for some in combinations(matters.tolist(), size)])
        if not is_alert(scored, best, threshold):
            return best._replace(is_smallest=True)
    return found._replace(is_smallest=True)


def is_alert(scored: Scored, removal: Removal, threshold: float) -> bool:
    """Whether the account is an alert without some counterparties. Without any dealings, it is none."""
    return removal.score >= threshold and len(removal.chosen) < len(scored.without)


def _greedy(scored: Scored, threshold: float, num_candidates: int) -> Removal:
    removal, left = Removal(np.empty(0, dtype=np.int64), scored.score), scored.raising[:num_candidates]
    if is_alert(scored, _best(scored, [scored.raising[:_LONGEST]]), threshold):
        return _shortest_prefix(scored, threshold)
    while is_alert(scored, removal, threshold):
        if not len(left) or len(removal.chosen) == _LONGEST:
            return _shortest_prefix(scored, threshold)
        removal = _best(scored, [np.append(removal.chosen, i) for i in left])
        left = left[left != removal.chosen[-1]]
    return removal


def _shortest_prefix(scored: Scored, threshold: float) -> Removal:
    """The first ones of those who raise the score, as few as are enough, by bisection."""
    order, enough, too_few = scored.raising, len(scored.without), 0
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if is_alert(scored, _best(scored, [order[:middle]]), threshold):
            too_few = middle
        else:
            enough = middle
    return _best(scored, [order[:enough]])


def _best(scored: Scored, sets: list[NDArray[np.int64]]) -> Removal:
    """The set without which the score is lowest."""
    scores = scored.scores(sets)
    lowest = int(scores.argmin())
    return Removal(sets[lowest], float(scores[lowest]))
