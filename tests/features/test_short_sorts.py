from __future__ import annotations

import numpy as np
import pytest

from gtea.features.short_sorts import _ranks, distinct, sort_both

LENGTHS = (0, 1, 2, 23, 24, 25, 300)


@pytest.mark.parametrize("length", LENGTHS)
def test_both_are_sorted_and_ties_keep_their_order(length: int) -> None:
    keys = np.random.default_rng(length).integers(-5, 5, length)
    values = np.arange(length)
    wanted = sorted(zip(keys.tolist(), values.tolist(), strict=True), key=lambda pair: pair[0])
    sort_both(keys, values)
    assert list(zip(keys.tolist(), values.tolist(), strict=True)) == wanted


def test_a_part_of_an_array_is_sorted_in_place() -> None:
    keys, values = np.array([9, 3, 2, 1, 0]), np.array([0, 1, 2, 3, 4])
    sort_both(keys[1:4], values[1:4])
    assert (keys.tolist(), values.tolist()) == ([9, 1, 2, 3, 0], [0, 3, 2, 1, 4])


@pytest.mark.parametrize("length", LENGTHS)
def test_distinct_values_are_counted(length: int) -> None:
    values = np.random.default_rng(length).integers(0, 10 + length // 2, length).astype(np.int32)
    before = values.copy()
    assert distinct(values) == len(set(values.tolist()))
    np.testing.assert_array_equal(values, before)


def test_an_order_of_other_events_is_none() -> None:
    """As where a damaged store has events of a pair that are not in time order."""
    assert _ranks(np.array([2, 0, 1]), 3)
    assert not _ranks(np.array([2, 0, 3]), 3)
    assert not _ranks(np.array([2, -1, 0]), 3)
    assert not _ranks(np.array([0, 1]), 3)
