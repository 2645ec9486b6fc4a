"""Subgraphs around seeds: full, with every node and slot within L hops, for exact scoring; and sampled.

A slot is an edge as seen from one of its ends. Nodes are in the order of their discovery, as in ``gtea.nn.batch``.
Each node is expanded once, so no slot appears twice. The full subgraph of all nodes is the whole graph, in the store's
order. It costs one visit per slot, and nothing is random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import UsageError
from gtea.runtime.jit import jit
from gtea.store.graph import Graph, visible_slots


@dataclass(frozen=True)
class FullSubgraph:
    """All nodes and slots within L hops of the seeds. Target i owns the slots offset[i] : offset[i + 1]."""

    num_within: tuple[int, ...]
    """The number of nodes within 0, 1, .., L hops."""
    nodes: NDArray[np.int64]
    """[num_within[L]]: node numbers in the store."""
    offset: NDArray[np.int64]
    """[num_within[L - 1] + 1]."""
    neighbour: NDArray[np.int64]
    """[num_slots]: indices into ``nodes``."""
    slot: NDArray[np.int64]
    """[num_slots]: slot numbers in the store."""

    def slots_of(self, targets: range) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The slot numbers of consecutive targets, and the node number of the target that owns each."""
        offset = self.offset[targets.start : targets.stop + 1]
        return self.slot[offset[0] : offset[-1]], np.repeat(self.nodes[targets.start : targets.stop], np.diff(offset))


@dataclass(frozen=True)
class SampledSubgraph:
    """Up to K sampled neighbours of each node within L - 1 hops of the seeds. See ``gtea.nn.batch``."""

    num_within: tuple[int, ...]
    """The number of nodes within 0, 1, .., L hops."""
    nodes: NDArray[np.int64]
    """[num_within[L]]: node numbers in the store."""
    neighbour: NDArray[np.int64]
    """[num_within[L - 1], K]: indices into ``nodes``, padded with -1."""
    edge: NDArray[np.int64]
    """[num_within[L - 1], K]: indices into ``edges``, padded with -1."""
    edges: NDArray[np.int64]
    """[num_edges]: edge numbers in the store."""
    seen_from: NDArray[np.int64]
    """[num_edges]: the node number of the end from which the edge is seen."""


def full_subgraph(graph: Graph, seeds: NDArray[np.integer[Any]], num_hops: int) -> FullSubgraph:
    """The full subgraph of some seeds before the cut.

    Args:
        seeds: Distinct node numbers.
    """
    num_nodes = len(graph.node_offset) - 1
    if 2 * len(seeds) > num_nodes:  # only for speed: the subgraph is the same without it
        degree = degrees(graph)
        if np.array_equal(seeds, np.flatnonzero(degree)):
            return _whole_graph(graph, degree, num_hops)
    # Each node's index plus 1, because zeros take no memory until they are written to.
    position = np.zeros(num_nodes, dtype=np.int32)
    nodes = np.empty(num_nodes, dtype=np.int64)
    nodes[: len(seeds)] = seeds
    position[seeds] = np.arange(1, len(seeds) + 1)
    if np.count_nonzero(position[seeds] == np.arange(1, len(seeds) + 1)) < len(seeds):
        raise UsageError("seeds: must be distinct. Use numpy.unique with return_inverse=True.")
    within, hops = [0, len(seeds)], []
    for _ in range(num_hops):
        degree, neighbour, slot, num_found = _expand(graph, position, nodes, within[-2], within[-1])
        hops.append((degree, neighbour, slot))
        within.append(num_found)
    degree, neighbour, slot = (np.concatenate(parts) for parts in zip(*hops, strict=True))
    offset = np.concatenate([[0], np.cumsum(degree)])
    return FullSubgraph(tuple(within[1:]), nodes[: within[-1]].copy(), offset, neighbour, slot)


def _whole_graph(graph: Graph, degree: NDArray[np.int64], num_hops: int) -> FullSubgraph:
    """All nodes with an edge before the cut, in the store's order: no search is needed."""
    nodes = np.flatnonzero(degree)
    offset = np.concatenate([[0], np.cumsum(degree[nodes])])
    slot, neighbour = np.arange(offset[-1]), graph.slot_neighbour
    if len(slot) < len(neighbour):  # some edges lie after the cut
        slot += np.repeat(graph.node_offset[nodes] - offset[:-1], degree[nodes])
        neighbour = neighbour[slot]
    if len(nodes) < len(degree):
        place = np.cumsum(degree > 0) - 1
        neighbour = place[neighbour]
    return FullSubgraph((len(nodes),) * (num_hops + 1), nodes, offset, neighbour.astype(np.int64), slot)


@jit
def degrees(graph: Graph) -> NDArray[np.int64]:
    """The number of each node's slots before the cut."""
    degree = np.empty(len(graph.node_offset) - 1, dtype=np.int64)
    for node in range(len(degree)):
        start, stop = visible_slots(graph, node)
        degree[node] = stop - start
    return degree


@jit
def _expand(
    graph: Graph, position: NDArray[np.int32], nodes: NDArray[np.int64], first: int, num_found: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
    """Expand ``nodes[first:num_found]``; new nodes are appended to ``nodes``.

    Returns:
        Their degrees, the indices of their neighbours, their slots, and the new number of nodes found.
    """
    degree = np.empty(num_found - first, dtype=np.int64)
    for i in range(len(degree)):
        start, stop = visible_slots(graph, nodes[first + i])
        degree[i] = stop - start
    neighbour = np.empty(degree.sum(), dtype=np.int64)
    slots = np.empty_like(neighbour)
    count, num_nodes = 0, num_found
    for i in range(len(degree)):
        start = graph.node_offset[nodes[first + i]]
        for slot in range(start, start + degree[i]):
            node = graph.slot_neighbour[slot]
            if position[node] == 0:
                nodes[num_nodes] = node
                num_nodes += 1
                position[node] = num_nodes
            neighbour[count], slots[count] = position[node] - 1, slot
            count += 1
    return degree, neighbour, slots, num_nodes
