"""Tables of distinct strings in canonical order: account ids, and the words of a categorical column.

Shorter strings come first, strings of equal length are ordered by their UTF-8 bytes. With this order the table doesn't
depend on the order of the input, a lookup is a binary search over the mapped file, merging new strings keeps the old
ones in order, and strings of whole numbers are in numerical order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gtea.errors import StoreError

# With fewer queries than 1/64 of the table, binary searches are faster than hashing the whole table.
_HASHING_RATIO = 64


class StringTable:
    """Maps numbers to strings and strings to numbers, directly on two memory-mapped arrays."""

    def __init__(self, offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> None:
        self.offsets = offsets
        self.data = data
        self._valid = False

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, number: int) -> str:
        try:
            return self._bytes(number).decode()
        except UnicodeDecodeError as error:
            raise _damaged(error) from error

    def find(self, text: str) -> int:
        """The number of a string, or -1. A binary search that touches about log2(n) pages."""
        wanted = text.encode()
        low = self.place_of(wanted)
        return low if low < len(self) and self._bytes(low) == wanted else -1

    def place_of(self, wanted: bytes) -> int:
        """The number of strings before this one, whether or not it is in the table."""
        rank = len(wanted), wanted
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._rank(middle) < rank:
                low = middle + 1
            else:
                high = middle
        return low

    def find_many(self, texts: Sequence[str] | pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
        """The number of each string, or -1 if it is not in the table."""
        if len(texts) * _HASHING_RATIO < len(self):
            plain: Iterable[Any] = texts.to_pylist() if isinstance(texts, pa.Array | pa.ChunkedArray) else texts
            return np.array([self.find(text) for text in plain], dtype=np.int64)
        queries = texts if isinstance(texts, pa.Array | pa.ChunkedArray) else pa.array(texts, pa.large_string())
        found = pc.index_in(queries.cast(pa.large_string()), value_set=self.to_arrow())
        return np.asarray(pc.fill_null(found, -1)).astype(np.int64)

    def take(self, numbers: NDArray[np.integer[Any]]) -> pa.LargeStringArray:
        """The strings with the given numbers."""
        return self.to_arrow().take(pa.array(numbers))

    def to_arrow(self) -> pa.LargeStringArray:
        """The whole table as an Arrow array on the mapped files. Nothing is copied. The first time, it is validated."""
        try:
            table = pa.LargeStringArray.from_buffers(len(self), pa.py_buffer(self.offsets), pa.py_buffer(self.data))
            if not self._valid:
                table.validate(full=True)  # Arrow trusts offsets, and would read anywhere
                self._valid = True
        except pa.ArrowInvalid as error:
            raise _damaged(error) from error
        return table

    def _rank(self, number: int) -> tuple[int, bytes]:
        """The sort key of a string."""
        content = self._bytes(number)
        return len(content), content

    def _bytes(self, number: int) -> bytes:
        return self.data[self.offsets[number] : self.offsets[number + 1]].tobytes()


def _damaged(error: Exception | str) -> StoreError:
    return StoreError(
        f"a table of strings is damaged ({error}). Check the store with gtea verify; restore it from a backup or "
        "ingest again."
    )


def merge_tables(old: StringTable, new: StringTable) -> tuple[StringTable, NDArray[np.int64], NDArray[np.int64]]:
    """The union of two tables, and for each table the new numbers of its strings. Both maps are increasing."""
    table = table_from([old.to_arrow(), new.to_arrow()])
    maps = table.find_many(old.to_arrow()), table.find_many(new.to_arrow())
    if any((np.diff(numbers) <= 0).any() for numbers in maps):
        raise _damaged("its strings must be distinct and in order")
    return table, *maps


def table_from(columns: Sequence[pa.LargeStringArray]) -> StringTable:
    """A table of all strings in some columns."""
    strings = pc.unique(pa.chunked_array(columns, pa.large_string()))
    # Arrow compares strings by their bytes.
    ranked = pa.table({"length": pc.binary_length(strings), "string": strings})
    order = pc.sort_indices(ranked, sort_keys=[("length", "ascending"), ("string", "ascending")])
    return table_of(strings.take(order))


def table_of(strings: pa.LargeStringArray) -> StringTable:
    """A table of strings that are already distinct and in order."""
    array = pa.concat_arrays([strings])  # a copy: no offset, no unused bytes
    if len(array) == 0:
        return StringTable(np.zeros(1, np.int64), np.zeros(0, np.uint8))
    _, offsets, data = array.buffers()
    starts = np.frombuffer(offsets, np.int64, len(array) + 1)
    return StringTable(starts, np.frombuffer(data, np.uint8, int(starts[-1])) if data else np.zeros(0, np.uint8))
