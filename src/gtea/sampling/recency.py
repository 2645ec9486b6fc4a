"""The order "most recent first" of every node's neighbours, as of one cut.

On disk a node's slots are ordered by the edges' FIRST events, which is the same order for every cut. The order by LAST
event before the cut is another one for every cut, so it can't be stored once. It is built in memory when a sampler
wants it: one search for each edge's last visible event, one sort of each node's slots. Exact, and then the K most
recent neighbours of a hub cost what a leaf's cost. The price: a pass over all slots (2 s for 15.6 million, on one
core) and four bytes for each, for every new cut. A timeline of every node's events would serve all cuts, but it takes
24 bytes for each end of each EVENT, and finding K distinct neighbours in it needs a search tree on top.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit
from gtea.store.graph import Graph, visible_events, visible_slots


@jit
def recency_ranks(graph: Graph) -> NDArray[np.uint32]:
    """For each node, beginning at its first slot: which of its visible slots is the most recent, the next, ...

    Slots are counted within their node. Of two edges with the same last time the older acquaintance goes first.
    """
    ranks = np.zeros(len(graph.slot_edge), dtype=np.uint32)
    for node in range(len(graph.node_offset) - 1):
        start, stop = visible_slots(graph, node)
        if stop - start > 1:
            age = np.empty(stop - start, dtype=np.int64)
            for i in range(stop - start):
                _, end = visible_events(graph, graph.slot_edge[start + i])
                age[i] = graph.cut - graph.event_time[end - 1]
            order = np.argsort(age, kind="mergesort")  # stable: ties keep the order of the slots
            for i in range(stop - start):
                ranks[start + i] = order[i]
    return ranks
