"""Find events that are equal in every stored field.

Identical rows are separate events and are kept; the data report counts them. Append also uses this to detect a
delivery that repeats events of the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = Sequence[NDArray[Any]]


def equal_groups(columns: Columns) -> NDArray[np.int64]:
    """Number the rows so that two rows have the same number if and only if they are equal in every column.

    Floats are compared by their bits. The numbers run from 0 without gaps.
    """
    keys = [_bits(column) for column in columns]
    order = np.lexsort(keys)
    changes = np.zeros(len(order), dtype=bool)
    for key in keys:
        ordered = key[order]
        changes[1:] |= ordered[1:] != ordered[:-1]
    groups = np.empty(len(order), dtype=np.int64)
    groups[order] = np.cumsum(changes)
    return groups


class DuplicateCounter:
    """Counts repeated events in a stream that is ordered by pair and time, batch by batch.

    Only events that share pair and time with the row before or after can be duplicates; the others are never sorted.
    The last group of a batch may continue in the next one, so its distinct rows are carried over.
    """

    def __init__(self) -> None:
        self.count = 0
        self._carried: list[NDArray[Any]] = []

    def add(self, group: Columns, rest: Columns) -> None:
        """Add the next batch: the columns that it is ordered by (pair and time), and the other fields."""
        columns = [*group, *rest]
        if self._carried:
            columns = [np.concatenate(pair) for pair in zip(self._carried, columns, strict=True)]
        same = np.ones(len(columns[0]) - 1, dtype=bool)
        for column in columns[: len(group)]:
            same &= column[1:] == column[:-1]
        tied = np.zeros(len(columns[0]), dtype=bool)
        tied[1:] |= same
        tied[:-1] |= same
        groups = equal_groups([column[tied] for column in columns])
        self.count += len(groups) - (int(groups.max()) + 1 if len(groups) else 0)
        # The group after the last break may continue in the next batch.
        breaks = np.flatnonzero(~same)
        start = int(breaks[-1]) + 1 if len(breaks) else 0
        rows = [column[start:] for column in columns]
        _, first = np.unique(equal_groups(rows), return_index=True)
        self._carried = [row[first] for row in rows]


def _bits(column: NDArray[Any]) -> NDArray[Any]:
    return column.view(np.uint32) if column.dtype == np.float32 else column
