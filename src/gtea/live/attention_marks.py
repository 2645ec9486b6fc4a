"""Compiled walks over a growing graph: which accounts a change reaches, and what an account reads.

An account attends to a neighbour if it gives its pair with it a weight above zero. Each edge has a slot at both its
ends, so the weights seen from the other end are the reverse index: no list of who attends to whom is kept beside them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit
from gtea.store.graph import Graph, visible_slots


@jit
def _pair_of(graph: Graph, slot: int, node: int) -> int:
    """The number of a slot's pair as seen from the node."""
    edge: int = graph.slot_edge[slot]
    return 2 * edge + bool(graph.edge_a[edge] != node)


@jit
def spread(
    graph: Graph, alpha: NDArray[np.float32], level: NDArray[np.uint8], nodes: NDArray[np.int64], depth: int
) -> NDArray[np.int64]:
    """Mark that z^(0) of some nodes has changed, and layer by layer what follows for those who attend to them.

    Args:
        level: The lowest layer of each node that has to be computed again; ``depth + 1`` if none has. Lowered here.
            Whoever attends to a marked node is marked one layer higher at least, so nothing beyond is looked at twice.
        depth: The number of layers.

    Returns:
        The nodes whose level has been lowered, those given first, nearer ones before others.
    """
    found, count = np.empty(max(16, 2 * len(nodes)), dtype=np.int64), 0
    for node in nodes:
        if level[node] > 0:
            level[node] = 0
            found[count] = node
            count += 1
    first = 0
    for layer in range(1, depth + 1):
        stop = count
        for i in range(first, stop):
            node = found[i]
            start, end = visible_slots(graph, node)
            for slot in range(start, end):
                other = graph.slot_neighbour[slot]
                seen_from_other = _pair_of(graph, slot, node) ^ (other != node)
                if level[other] > layer and alpha[seen_from_other] > 0:
                    level[other] = layer
                    if count == len(found):
                        longer = np.empty(2 * count, dtype=np.int64)
                        longer[:count] = found
                        found = longer
                    found[count] = other
                    count += 1
        first = stop
    return found[:count]


@jit
def mark_partners(graph: Graph, stale: NDArray[np.bool_], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Mark all neighbours of some nodes. Returns those that were not marked."""
    capacity = 0
    for node in nodes:
        start, stop = visible_slots(graph, node)
        capacity += stop - start
    found, count = np.empty(capacity, dtype=np.int64), 0
    for node in nodes:
        start, stop = visible_slots(graph, node)
        for other in graph.slot_neighbour[start:stop]:
            if not stale[other]:
                stale[other] = True
                found[count] = other
                count += 1
    return found[:count]


@jit
def rows_of(graph: Graph, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs of some nodes: node i has those from ``offset[i]`` to before ``offset[i + 1]``."""
    offset = np.zeros(len(nodes) + 1, dtype=np.int64)
    for i in range(len(nodes)):
        start, stop = visible_slots(graph, nodes[i])
        offset[i + 1] = offset[i] + stop - start
    pairs = np.empty(offset[-1], dtype=np.int64)
    for i in range(len(nodes)):
        start, stop = visible_slots(graph, nodes[i])
        for slot in range(start, stop):
            pairs[offset[i] + slot - start] = _pair_of(graph, slot, nodes[i])
    return offset, pairs


@jit
def attended_of(
    graph: Graph, alpha: NDArray[np.float32], nodes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """What some nodes attend to: the offset of each node, the neighbours, and the pairs."""
    offset = np.zeros(len(nodes) + 1, dtype=np.int64)
    capacity = 0
    for node in nodes:
        start, stop = visible_slots(graph, node)
        capacity += stop - start
    neighbours, pairs = np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64)
    count = 0
    for i in range(len(nodes)):
        start, stop = visible_slots(graph, nodes[i])
        for slot in range(start, stop):
            pair = _pair_of(graph, slot, nodes[i])
            if alpha[pair] > 0:
                neighbours[count], pairs[count] = graph.slot_neighbour[slot], pair
                count += 1
        offset[i + 1] = count
    return offset, neighbours[:count], pairs[:count]
