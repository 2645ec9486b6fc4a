"""Every account's events in the order of their times, whoever they were with: as of one cut, in memory.

On disk events stand pair by pair, which is what histories want. A model of single events asks otherwise: what were the
last K events of this account before that moment, with anybody? With this index the answer is one binary search and K
places. The price is a pass over the events before the cut and 16 bytes for each of their two ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit
from gtea.store.graph import Graph, visible_events, visible_slots


class Timeline(NamedTuple):
    """Node i owns places offset[i] : offset[i + 1], in time order; events at one time in the order of their slots."""

    offset: NDArray[np.int64]
    time: NDArray[np.int64]
    slot: NDArray[np.int32]
    """The slot among the node's own, from 0: it knows the other end and the edge."""
    back: NDArray[np.int32]
    """The event, counted back from the end of its edge's events before the cut."""


@jit
def timeline_of(graph: Graph) -> Timeline:
    """The index of a view's events."""
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
        place = offset[node]
        for slot in range(start, stop):
            first, end = visible_events(graph, graph.slot_edge[slot])
            for event in range(first, end):
                time[place], slots[place], back[place] = graph.event_time[event], slot - start, end - event
                place += 1
        if stop - start > 1:
            own = slice(offset[node], offset[node + 1])
            order = np.argsort(time[own], kind="mergesort")  # stable: ties keep the order of the slots
            time[own], slots[own], back[own] = time[own][order], slots[own][order], back[own][order]
    return Timeline(offset, time, slots, back)
