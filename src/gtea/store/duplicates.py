"""Which events are the same in every stored field.

Identical rows are separate events and stay; the data report counts them. A delivery that repeats events which
the store already has is another matter, and append wants to know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = Sequence[NDArray[Any]]


def equal_groups(columns: Columns) -> NDArray[np.int64]:
    """Number the rows so that two rows have the same number exactly when they agree in every column.

    Floats are compared by their bits. The numbers are 0.. without gaps.
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

    Only events that share pair and time with a neighbour can be duplicates; the rest is never sorted. The last
    group of a batch may go on in the next one, so its distinct rows are carried over.
    """

    def __init__(self) -> None:
        self.count = 0
        self._carried: list[NDArray[Any]] = []

    def add(self, keys: NDArray[Any], times: NDArray[np.int64], rest: Columns) -> None:
        """Take the next batch: pair, time, and the other fields."""
        columns = [keys, times, *rest]
        if self._carried:
            columns = [np.concatenate(pair) for pair in zip(self._carried, columns, strict=True)]
        keys, times = columns[0], columns[1]
        same = (keys[1:] == keys[:-1]) & (times[1:] == times[:-1])
        tied = np.zeros(len(keys), dtype=bool)
        tied[1:] |= same
        tied[:-1] |= same
        rows = [column[tied] for column in columns]
        groups = equal_groups(rows)
        self.count += len(groups) - (int(groups.max()) + 1 if len(groups) else 0)
        self._carried = self._last_group(columns)

    @staticmethod
    def _last_group(columns: Columns) -> list[NDArray[Any]]:
        open_group = (columns[0] == columns[0][-1]) & (columns[1] == columns[1][-1])
        rows = [column[open_group] for column in columns]
        _, first = np.unique(equal_groups(rows), return_index=True)
        return [row[first] for row in rows]


def _bits(column: NDArray[Any]) -> NDArray[Any]:
    return column.view(np.uint32) if column.dtype == np.float32 else column
