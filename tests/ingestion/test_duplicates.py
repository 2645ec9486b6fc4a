"""Repeated events are counted whatever batches they come in."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gtea.ingestion.duplicates import DuplicateCounter, equal_groups

rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from([0.0, 1.0, np.nan])), max_size=30)


@given(rows.map(sorted), st.lists(st.integers(1, 5), min_size=1))
def test_batches_change_nothing(events: list[tuple[int, int, float]], sizes: list[int]) -> None:
    """By pair, time and one value, in order of pair and time."""
    wanted = sum(count - 1 for count in Counter((pair, time, str(value)) for pair, time, value in events).values())
    counter, start = DuplicateCounter(), 0
    while start < len(events):
        size = sizes[start % len(sizes)]
        pair, time, value = (np.array(column) for column in zip(*events[start : start + size], strict=True))
        counter.add([pair, time], [value.astype(np.float32)])
        start += size
    assert counter.count == wanted


def test_floats_are_compared_by_their_bits() -> None:
    groups = equal_groups([np.array([0.0, -0.0, np.nan, np.nan], dtype=np.float32)])
    assert groups[2] == groups[3]
    assert len(set(groups.tolist())) == 3
