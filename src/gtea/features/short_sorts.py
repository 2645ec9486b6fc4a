"""Sort arrays and count distinct values in compiled code: short arrays in place, because most accounts have few events.

Up to ``_SHORT`` values, insertion sort and linear search are faster than allocating the memory for anything better.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit
from gtea.store.graph import Graph

_SHORT = 24
UNKNOWN_ORDER: NDArray[np.int64] = np.empty(0, dtype=np.int64)
"""Stands for the order in time of the events of each node, where it is not known. Known, it saves a sort: an array of
as many numbers as the graph has events, and the events of a node lie side by side."""
UNKNOWN_ORDER.flags.writeable = False


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
def sort_events(
    graph: Graph, slot: int, times: NDArray[np.int64], values: NDArray[np.int64], order: NDArray[np.int64]
) -> None:
    """Sort the times and other values of a node's events by time, in place. Equal times keep their order.

    Args:
        slot: The node's first slot. The events are in the order of its slots.
        order: ``UNKNOWN_ORDER``, or the order of each node's events, counted from its first one.
    """
    if len(order) > 0:
        first = graph.edge_offset[graph.slot_edge[slot]]
        chosen = order[first : first + len(times)]
        if _ranks(chosen, len(times)):
            times[:], values[:] = times[chosen], values[chosen]
            return
    sort_both(times, values)


@jit
def _ranks(order: NDArray[np.int64], count: int) -> bool:
    """Whether an order is one of so many. It isn't where a damaged store has events that are not in time order."""
    fits = len(order) == count
    for rank in order:
        fits &= 0 <= rank < count
    return fits


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
