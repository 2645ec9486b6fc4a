"""A view for compiled code, and the binary searches that keep compiled code before the cut.

Compiled code can't call the methods of a view, so the same rule is implemented here again: a node's slots before the
cut are a prefix of its slots, and an edge's events before the cut are a prefix of its events. Every kernel uses
``visible_slots`` and ``visible_events``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit
from gtea.store.view import View


class Graph(NamedTuple):
    """The arrays that kernels read, and the cut that they must respect.

    The slots of node n end before ``node_stop[n]`` and the events of edge e before ``edge_stop[e]``. On disk that is
    where those of the next one start. A graph that grows in memory has room between them (``gtea.live``).
    """

    cut: int
    node_offset: NDArray[np.int64]
    node_stop: NDArray[np.int64]
    slot_neighbour: NDArray[np.int32]
    slot_edge: NDArray[np.int64]
    slot_first_time: NDArray[np.int64]
    edge_a: NDArray[np.int32]
    edge_b: NDArray[np.int32]
    edge_offset: NDArray[np.int64]
    edge_stop: NDArray[np.int64]
    edge_first_time: NDArray[np.int64]
    edge_last_time: NDArray[np.int64]
    event_time: NDArray[np.int64]
    event_reverse: NDArray[np.uint8]
    event_features: NDArray[np.float32]
    event_categories: NDArray[np.int32]


def graph_of(view: View) -> Graph:
    """Convert a view for compiled code. Nothing is copied."""
    return Graph(view.cut, *(_read_only(getattr(view.arrays, name)) for name in Graph._fields[1:]))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view of an array.

    Mapped arrays are read-only and empty ones are not. Numba would compile each kernel for every combination.
    """
    if not array.flags.writeable:
        return array
    sealed = array.view()
    sealed.flags.writeable = False
    return sealed


@jit
def first_not_before(values: NDArray[np.int64], start: int, stop: int, limit: int) -> int:
    """The first index in the sorted ``values[start:stop]`` whose value is not below the limit, or ``stop``."""
    # Most nodes and edges end before the cut: checking the last value first saves the search.
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
    start, stop = graph.node_offset[node], graph.node_stop[node]
    return start, first_not_before(graph.slot_first_time, start, stop, graph.cut)


@jit
def visible_events(graph: Graph, edge: int) -> tuple[int, int]:
    """The range of an edge's events before the cut."""
    start, stop = graph.edge_offset[edge], graph.edge_stop[edge]
    if graph.edge_last_time[edge] < graph.cut:
        return start, stop
    return start, first_not_before(graph.event_time, start, stop, graph.cut)


@jit
def events_of(graph: Graph, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of events of some nodes before the cut. An event of a node with itself counts once."""
    counts = np.zeros(len(nodes), dtype=np.int64)
    for i in range(len(nodes)):
        start, stop = visible_slots(graph, nodes[i])
        for slot in range(start, stop):
            first, end = visible_events(graph, graph.slot_edge[slot])
            counts[i] += end - first
    return counts


@jit
def edge_between(graph: Graph, a: int, b: int) -> int:
    """The edge with these ends in this order, or -1. It may have no event before the cut."""
    low, high = 0, len(graph.edge_a)
    while low < high:
        middle = (low + high) // 2
        if graph.edge_a[middle] < a or (graph.edge_a[middle] == a and graph.edge_b[middle] < b):
            low = middle + 1
        else:
            high = middle
    found = low < len(graph.edge_a) and graph.edge_a[low] == a and graph.edge_b[low] == b
    return low if found else -1
