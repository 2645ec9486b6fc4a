"""The rhythm of a pair's dealings in a word or two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gtea.report.clock import Clock

_FEW = 4
"""Up to so many events are told by number and time: 3 in 8 h."""
_EVEN = 0.25
"""Gaps are regular if the middle half of them differ from the median by less than this share."""
_BURST = 0.02
"""A gap within a burst is shorter than this share of the whole time."""


def rhythm_text(times: NDArray[np.int64], clock: Clock) -> str:
    """How the events of a pair follow each other: once, 3 in 8 h, every 7 d, in bursts, irregular."""
    if len(times) == 1:
        return "once"
    span = int(times[-1] - times[0])
    if span == 0:
        return f"{len(times)} at once"
    if len(times) <= _FEW:
        return f"{len(times)} in {clock.short_span(span)}"
    gaps = np.diff(times)
    low, middle, high = np.percentile(gaps, [25, 50, 75])
    if middle > 0 and high - low <= 2 * _EVEN * middle and gaps.max() <= 3 * middle:
        return f"every {clock.short_span(middle)}"
    return "in bursts" if np.mean(gaps <= _BURST * span) >= 0.5 else "irregular"
