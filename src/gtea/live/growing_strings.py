"""A table of strings that grows: account ids, or the words of a categorical column.

The strings of the store keep their numbers, and new ones are numbered as they come. The store would put them in
canonical order (``gtea.store.strings``). ``rank`` says where each would stand: an account's slots that begin at the
same time are in the order of their edges, and so of their accounts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gtea.live.growing_array import GrowingArray
from gtea.store.strings import StringTable

_GAP = 1 << 31
"""The distance of the ranks of two strings of the store: room for as many new ones between them."""

_Order = tuple[int, bytes]
"""Shorter strings come first; strings of equal length are ordered by their bytes."""


class GrowingStrings(StringTable):
    """The strings of a table, and new ones after them."""

    def __init__(self, table: StringTable, added: Sequence[str] = ()) -> None:
        self._table = table
        self._offsets = GrowingArray(np.asarray(table.offsets))
        self._data = GrowingArray(np.asarray(table.data))
        super().__init__(self._offsets.sealed, self._data.sealed)
        self._new: dict[str, int] = {}
        self._ranks = GrowingArray((np.arange(len(table), dtype=np.int64) + 1) * _GAP)
        self._between: dict[int, list[tuple[_Order, int]]] = {}
        for text in added:
            self.add(text)

    @property
    def added(self) -> list[str]:
        """The new strings, in the order of their numbers."""
        return list(self._new)

    @property
    def num_bytes(self) -> int:
        """What the strings take, but for the lookup of new ones."""
        return self._offsets.num_bytes + self._data.num_bytes + self._ranks.num_bytes

    @property
    def rank(self) -> NDArray[np.int64]:
        """Numbers in the canonical order of the strings."""
        return self._ranks.sealed

    def find(self, text: str) -> int:
        """The number of a string, or -1."""
        found = self._new.get(text)
        return self._table.find(text) if found is None else found

    def find_many(self, texts: Sequence[str] | pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
        """The number of each string, or -1 if it is not in the table."""
        plain: Sequence[Any] = texts.to_pylist() if isinstance(texts, pa.Array | pa.ChunkedArray) else texts
        return np.array([self.find(text) for text in plain], dtype=np.int64)

    def add(self, text: str) -> int:
        """The number of a string, which is added if it is new."""
        found = self.find(text)
        if found >= 0:
            return found
        encoded, number = text.encode(), len(self)
        start = int(self._offsets.rows[-1])
        self._data.grow(start + len(encoded))
        self._data.rows[start:] = np.frombuffer(encoded, np.uint8)
        self._offsets.grow(number + 2)
        self._offsets.rows[-1] = start + len(encoded)
        super().__init__(self._offsets.sealed, self._data.sealed)
        self._new[text] = number
        self._ranks.grow(number + 1)
        self._place((len(encoded), encoded), number)
        return number

    def _place(self, order: _Order, number: int) -> None:
        """Give a new string its rank: between those beside it or, if there is no room, all of its gap get new ranks."""
        gap = self._table.place_of(order[1])
        others, ranks = self._between.setdefault(gap, []), self._ranks.rows
        place = bisect_left(others, (order, number))
        low = int(ranks[others[place - 1][1]]) if place else gap * _GAP
        high = int(ranks[others[place][1]]) if place < len(others) else (gap + 1) * _GAP
        others.insert(place, (order, number))
        if high - low > 1:
            # Ids are often numbered upwards: leave most of the room to those that follow.
            ranks[number] = low + max(1, (high - low) // (1024 if place == len(others) - 1 else 2))
            return
        for position, (_, other) in enumerate(others):
            ranks[other] = gap * _GAP + (position + 1) * _GAP // (len(others) + 1)
