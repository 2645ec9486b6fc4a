"""Sort arrays and count distinct values in compiled code: short arrays in place, because most accounts have few events.

Up to ``_SHORT`` values, insertion sort and linear search are faster than allocating the memory for anything better.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit

_SHORT = 24


@jit
def sort_both(keys: NDArray[np.integer[Any]], values: NDArray[np.int64]) -> None:
    """Sort both arrays by key, in place. Equal keys keep their order."""
    if len(keys) > _SHORT:
        order = np.argsort(keys, kind="mergesort")
        keys[:], values[:] = keys[order], values[order]
        return
    for i in range(1, len(keys)):
        key, value, position = keys[i], values[i], i
        while position > 0 and keys[position - 1] > key:
            keys[position], values[position] = keys[position - 1], values[position - 1]
            position -= 1
        keys[position], values[position] = key, value


@jit
def distinct(values: NDArray[np.int32]) -> int:
    """The number of distinct values."""
    count = min(1, len(values))
    if len(values) > _SHORT:
        ordered = np.sort(values)
        for i in range(1, len(ordered)):
            count += ordered[i] != ordered[i - 1]
        return count
    for i in range(1, len(values)):
        new = 1
        for j in range(i):
            if values[j] == values[i]:
                new = 0
                break
        count += new
    return count
