"""Arrays that grow at their end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEAST = 1 << 8


class GrowingArray:
    """An array whose number of rows grows. Rows that have never been used are zero.

    Memory is reserved for twice the rows, but memory that was never touched takes no space.
    """

    def __init__(self, rows: NDArray[Any]) -> None:
        self.reserved = np.zeros((max(_LEAST, 2 * len(rows)), *rows.shape[1:]), rows.dtype)
        """All rows, also those that are not in use yet."""
        self.reserved[: len(rows)] = rows
        self._length = len(rows)

    def __len__(self) -> int:
        return self._length

    @property
    def rows(self) -> NDArray[Any]:
        """The rows in use, which can be written to. Growing may move them."""
        return self.reserved[: self._length]

    @property
    def sealed(self) -> NDArray[Any]:
        """The rows in use, for reading: compiled code is compiled anew for arrays that can be written."""
        rows = self.rows
        rows.flags.writeable = False
        return rows

    @property
    def num_bytes(self) -> int:
        """What the rows in use take."""
        return self.rows.nbytes

    def grow(self, length: int) -> None:
        """Have at least this many rows in use."""
        self.reserve(length)
        self._length = max(length, self._length)

    def reserve(self, length: int) -> None:
        """Have at least this many rows reserved."""
        if length > len(self.reserved):
            larger = np.zeros((2 * length, *self.reserved.shape[1:]), self.reserved.dtype)
            larger[: self._length] = self.rows
            self.reserved = larger
