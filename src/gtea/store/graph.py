"""A view as compiled code sees it, and the two binary searches that keep compiled code before the cut.

This is the view's promise once more, for code that can't call its methods: a node's slots before the cut are a prefix
of its slots, an edge's events before the cut a prefix of its events. Every kernel goes through these two functions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit
from gtea.store.view import View


class Graph(NamedTuple):
    """The arrays that kernels read, and the cut."""

    cut: int
    node_offset: NDArray[np.int64]
    slot_neighbour: NDArray[np.int32]
    slot_edge: NDArray[np.int64]
    slot_first_time: NDArray[np.int64]
    edge_a: NDArray[np.int32]
    edge_b: NDArray[np.int32]
    edge_offset: NDArray[np.int64]
    edge_first_time: NDArray[np.int64]
    edge_last_time: NDArray[np.int64]
    event_time: NDArray[np.int64]
    event_reverse: NDArray[np.uint8]
    event_features: NDArray[np.float32]
    event_categories: NDArray[np.int32]


def graph_of(view: View) -> Graph:
    """The view for compiled code. Nothing is copied."""
    return Graph(view.cut, *(_read_only(getattr(view.arrays, name)) for name in Graph._fields[1:]))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Mapped arrays are read-only and empty ones are not; numba would compile each kernel for every mixture."""
    sealed = array.view()
    sealed.flags.writeable = False
    return sealed


@jit
def first_not_before(values: NDArray[np.int64], start: int, stop: int, limit: int) -> int:
    """The first place in the ordered ``values[start:stop]`` that is not below the limit, or ``stop``."""
    # Most nodes and edges end before the cut: one look at the last value saves the search.
    if stop > start and values[stop - 1] < limit:
        return stop
    while start < stop:
        middle = (start + stop) // 2
        if values[middle] < limit:
            start = middle + 1
        else:
            stop = middle
    return start


@jit
def visible_slots(graph: Graph, node: int) -> tuple[int, int]:
    """The range of a node's slots whose edge has an event before the cut."""
    start, stop = graph.node_offset[node], graph.node_offset[node + 1]
    return start, first_not_before(graph.slot_first_time, start, stop, graph.cut)


@jit
def visible_events(graph: Graph, edge: int) -> tuple[int, int]:
    """The range of an edge's events before the cut."""
    start, stop = graph.edge_offset[edge], graph.edge_offset[edge + 1]
    if graph.edge_last_time[edge] < graph.cut:
        return start, stop
    return start, first_not_before(graph.event_time, start, stop, graph.cut)


@jit
def edge_between(graph: Graph, a: int, b: int) -> int:
    """The edge with these ends in this order, or -1. Whether it has an event before the cut is not looked at."""
    low, high = 0, len(graph.edge_a)
    while low < high:
        middle = (low + high) // 2
        if graph.edge_a[middle] < a or (graph.edge_a[middle] == a and graph.edge_b[middle] < b):
            low = middle + 1
        else:
            high = middle
    found = low < len(graph.edge_a) and graph.edge_a[low] == a and graph.edge_b[low] == b
    return low if found else -1
