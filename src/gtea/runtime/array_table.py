"""What a file says of the arrays in it, checked before memory is taken for them or a byte is taken for a number."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gtea.runtime.json_shape import Every, Natural, Pattern, misshapen

_MOST_DIMENSIONS = 8
_SHAPE = Every({
    "dtype": Pattern(r"\|[biu]1|<[iu][248]|<f[48]", "a type of numbers"),
    "shape": [Natural],
    "offset": Natural,
    "sha256": Pattern("[0-9a-f]{64}", "a digest"),
})  # fmt: skip


class StoredArray(NamedTuple):
    """An array in a file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int
    """Where it begins, in bytes after the beginning of all arrays."""
    sha256: str

    @property
    def num_bytes(self) -> int:
        """How many bytes it has."""
        return math.prod(self.shape) * self.dtype.itemsize

    def to_json(self) -> dict[str, Any]:
        """For the header of the file."""
        return {"dtype": self.dtype.str, "shape": list(self.shape), "offset": self.offset, "sha256": self.sha256}


def stored_arrays(content: Any, size: int) -> dict[str, StoredArray]:
    """The arrays that a header describes. Raises a ValueError if it describes none that can be in the file.

    Args:
        content: From JSON: what ``StoredArray.to_json`` gave, by the name of the array.
        size: How many bytes all arrays have together.
    """
    fault = misshapen(content, _SHAPE, "arrays")
    if fault is not None:
        raise ValueError(fault)
    found = {}
    for name, each in content.items():
        array = StoredArray(np.dtype(each["dtype"]), tuple(each["shape"]), each["offset"], each["sha256"])
        if len(array.shape) > _MOST_DIMENSIONS or array.offset + array.num_bytes > size:
            raise ValueError(f"arrays.{name[:60]} must be in the file (got {each['shape']} at {array.offset})"[:200])
        found[name] = array
    return found
