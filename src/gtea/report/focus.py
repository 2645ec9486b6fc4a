"""The time to look at first: the shortest window that holds most of what the score rests on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_SHARE = 0.8
_MARGIN = 0.03
_LITTLE = 0.125
"""A window that is a larger part of all time is widened to all of it: lanes without events look broken."""


def shortest_window(times: NDArray[np.int64], weights: NDArray[np.float64], share: float = _SHARE) -> tuple[int, int]:
    """The first and last event of the shortest window with at least this share of all weight.

    Args:
        times: At least one.
        weights: Not negative. If all are zero, every event weighs the same.
    """
    order = np.argsort(times, kind="stable")
    times, weights = times[order], weights[order] if weights.any() else np.ones(len(times))
    until = np.cumsum(weights)
    wanted = share * until[-1] * (1 - 1e-12)
    last = np.searchsorted(until, until - weights + wanted)
    first = np.flatnonzero(last < len(times))
    best = first[np.argmin(times[last[first]] - times[first])]
    return int(times[best]), int(times[last[best]])


def with_margin(first: int, last: int, least: int) -> tuple[int, int]:
    """A window with some air around it, and never so short that a lane shows nothing but one stick."""
    margin = max(round(_MARGIN * (last - first)), (least - (last - first)) // 2, 1)
    return first - margin, last + margin


def widened(window: tuple[int, int], whole: tuple[int, int]) -> tuple[int, int]:
    """All of time, unless the window is so small a part of it that it would be hard to see."""
    return window if window[1] - window[0] < _LITTLE * (whole[1] - whole[0]) else whole


def reaching(window: tuple[int, int], histories: Sequence[NDArray[np.int64]]) -> tuple[int, int]:
    """The window, made long enough to hold an event of every history: a lane without any looks broken.

    Args:
        histories: The times of each, none without events.
    """
    first, last = window
    for times in histories:
        before, after = times[times < window[0]], times[times > window[1]]
        if len(before) + len(after) < len(times):
            continue
        # Python's integers: a difference of two times may be more than int64 holds.
        near = [int(before.max())] if len(before) else []
        near += [int(after.min())] if len(after) else []
        nearest = min(near, key=lambda time: max(window[0] - time, time - window[1]))
        first, last = min(first, nearest), max(last, nearest)
    return first, last
