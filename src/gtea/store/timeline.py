"""An in-memory index of every account's events in time order, across all its neighbours, for one cut.

On disk, events are ordered by pair, which suits histories. A model of single events needs the last K events of an
account before some time, with any neighbour. This index answers that with one binary search and K reads. It costs a
pass over the events before the cut, and 16 bytes for each end of each event.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit
from gtea.store.graph import Graph, visible_events, visible_slots


class Timeline(NamedTuple):
    """Node i owns entries offset[i] : offset[i + 1], in time order. Ties keep the order of the slots."""

    offset: NDArray[np.int64]
    time: NDArray[np.int64]
    slot: NDArray[np.int32]
    """The index of the slot among the node's slots. It gives the neighbour and the edge."""
    back: NDArray[np.int32]
    """The event's position, counted back from the end of its edge's events before the cut (1: the last one)."""


@jit
def timeline_of(graph: Graph) -> Timeline:
    """Build the index of a view's events."""
    num_nodes = len(graph.node_offset) - 1
    offset = np.zeros(num_nodes + 1, dtype=np.int64)
    for node in range(num_nodes):
        start, stop = visible_slots(graph, node)
        offset[node + 1] = offset[node]
        for slot in range(start, stop):
            first, end = visible_events(graph, graph.slot_edge[slot])
            offset[node + 1] += end - first
    time = np.empty(offset[-1], dtype=np.int64)
    slots, back = np.empty(offset[-1], dtype=np.int32), np.empty(offset[-1], dtype=np.int32)
    for node in range(num_nodes):
        start, stop = visible_slots(graph, node)
        entry = offset[node]
        for slot in range(start, stop):
            first, end = visible_events(graph, graph.slot_edge[slot])
            for event in range(first, end):
                time[entry], slots[entry], back[entry] = graph.event_time[event], slot - start, end - event
                entry += 1
        if stop - start > 1:
            own = slice(offset[node], offset[node + 1])
            order = np.argsort(time[own], kind="mergesort")  # stable: ties keep the order of the slots
            time[own], slots[own], back[own] = time[own][order], slots[own][order], back[own][order]
    return Timeline(offset, time, slots, back)
