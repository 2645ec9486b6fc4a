"""Rows stay what they are while an array grows."""

from __future__ import annotations

import numpy as np
import pytest

from gtea.live.growing_array import GrowingArray


def test_it_keeps_its_rows_and_adds_zeros() -> None:
    array = GrowingArray(np.arange(6.0).reshape(3, 2))
    for length in (4, 300, 299, 5_000):
        array.grow(length)
    assert len(array) == 5_000
    np.testing.assert_array_equal(array.rows[:3], np.arange(6.0).reshape(3, 2))
    assert not array.rows[3:].any()
    assert array.num_bytes == 5_000 * 16


def test_reserving_uses_no_rows() -> None:
    array = GrowingArray(np.ones(2))
    array.reserve(10_000)
    assert (len(array), len(array.reserved) >= 10_000, array.rows.tolist()) == (2, True, [1, 1])


def test_sealed_rows_can_not_be_written_to() -> None:
    array = GrowingArray(np.ones(2))
    with pytest.raises(ValueError, match="read-only"):
        array.sealed[0] = 2
    array.rows[0] = 3
    assert array.sealed[0] == 3
