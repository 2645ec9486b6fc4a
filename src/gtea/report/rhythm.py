"""The rhythm of a pair's dealings in a word or two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gtea.report.clock import Clock

_FEW = 4
"""Up to so many events are told by number and time: 3 in 8 h."""
_EVEN = 0.25
"""Gaps are regular if the middle half of them differ from the median by less than this share."""
_BURSTY = 0.3
"""The burstiness of Goh and Barabási from which on a rhythm is called so: 0 for events at random, 1 at most."""


def rhythm_text(times: NDArray[np.int64], clock: Clock) -> str:
    """How the events of a pair follow each other: once, 3 in 8 h, every 7 d, in bursts, irregular."""
    if len(times) == 1:
        return "once"
    span = int(times[-1]) - int(times[0])
    if span == 0:
        return f"{len(times)} at once"
    if len(times) <= _FEW:
        return f"{len(times)} in {clock.short_span(span)}"
    gaps = np.diff(times).view(np.uint64)  # a difference of int64 may not fit into int64
    low, middle, high = np.percentile(gaps, [25, 50, 75])
    if middle > 0 and high - low <= 2 * _EVEN * middle and gaps.max() <= 3 * middle:
        return f"every {clock.short_span(middle)}"
    burstiness = (gaps.std() - gaps.mean()) / (gaps.std() + gaps.mean())
    return "in bursts" if burstiness >= _BURSTY else "irregular"
