"""A long history in few entries: the last events as they are, older ones merged by time and direction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gtea.report.case import Pair
from gtea.report.time_bins import time_bins

_MOST = 240
"""The entries of a history that a page holds."""

Entries = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]
"""Times, amounts, and sent + 2 * (events merged into the entry - 1)."""


def merged_events(pair: Pair, most: int = _MOST) -> Entries:
    """The history of a pair in at most so many entries, in time order. Sums and numbers of events are kept."""
    if len(pair.time) <= most:
        return pair.time, pair.amount, pair.sent.astype(np.int64)
    kept = most // 2
    old = slice(0, len(pair.time) - kept)
    time, sent, amount = pair.time[old], pair.sent[old].astype(np.int64), pair.amount[old]
    bins = (most - kept) // 2
    group = time_bins(time, (int(time[0]), int(time[-1])), bins) * 2 + sent
    groups, places, counts = np.unique(group, return_inverse=True, return_counts=True)
    first = np.full(len(groups), np.iinfo(np.int64).max)
    np.minimum.at(first, places, time)
    sums = np.bincount(places, weights=amount, minlength=len(groups))
    codes = groups % 2 + 2 * (counts - 1)
    order = np.argsort(first, kind="stable")
    new = slice(len(pair.time) - kept, None)
    return (
        np.concatenate([first[order], pair.time[new]]),
        np.concatenate([sums[order], pair.amount[new]]),
        np.concatenate([codes[order], pair.sent[new].astype(np.int64)]),
    )
