"""All that is within L hops of some nodes, nobody left out: what exact scoring looks at.

Nodes stand in the order of their discovery, as in ``gtea.nn.batch``: the full_subgraph of all nodes are the whole graph,
in the store's own order. A look is a slot: an edge together with the end that looks at it. A node is asked once, so
that no look appears twice. The cost is one visit to each look; nothing is drawn at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.errors import UsageError
from gtea.runtime.jit import jit
from gtea.store.graph import Graph, visible_slots


@dataclass(frozen=True)
class FullSubgraph:
    """Nodes, and who looks at whom. Target i owns the looks offset[i] : offset[i + 1]."""

    num_within: tuple[int, ...]
    """Nodes within 0, 1, .., L hops."""
    nodes: NDArray[np.int64]
    """[num_within[L]]: numbers of nodes in the store."""
    offset: NDArray[np.int64]
    """[num_within[L - 1] + 1]."""
    neighbour: NDArray[np.int64]
    """[num_slots]: places among ``nodes``."""
    slot: NDArray[np.int64]
    """[num_slots]: numbers of slots in the store."""

    def slots_of(self, targets: range) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of a run of targets: the slots they look at, and for each the node in the store that looks."""
        offset = self.offset[targets.start : targets.stop + 1]
        return self.slot[offset[0] : offset[-1]], np.repeat(self.nodes[targets.start : targets.stop], np.diff(offset))


def full_subgraph(graph: Graph, seeds: NDArray[np.integer[Any]], num_hops: int) -> FullSubgraph:
    """Everything before the cut within so many hops.

    Args:
        seeds: Numbers of nodes, each at most once.
    """
    num_nodes = len(graph.node_offset) - 1
    if 2 * len(seeds) > num_nodes:  # a matter of speed alone: both ways give the same subgraph
        degree = _degrees(graph)
        if np.array_equal(seeds, np.flatnonzero(degree)):
            return _whole_graph(graph, degree, num_hops)
    # A node's place, counted from 1: zeros cost no memory until they are written to.
    place = np.zeros(num_nodes, dtype=np.int32)
    nodes = np.empty(num_nodes, dtype=np.int64)
    nodes[: len(seeds)] = seeds
    place[seeds] = np.arange(1, len(seeds) + 1)
    if np.count_nonzero(place[seeds] == np.arange(1, len(seeds) + 1)) < len(seeds):
        raise UsageError("seeds: each may be named once. Use numpy.unique with return_inverse=True.")
    within, hops = [0, len(seeds)], []
    for _ in range(num_hops):
        degree, neighbour, slot, known = _expand(graph, place, nodes, within[-2], within[-1])
        hops.append((degree, neighbour, slot))
        within.append(known)
    degree, neighbour, slot = (np.concatenate(parts) for parts in zip(*hops, strict=True))
    offset = np.concatenate([[0], np.cumsum(degree)])
    return FullSubgraph(tuple(within[1:]), nodes[: within[-1]].copy(), offset, neighbour, slot)


def _whole_graph(graph: Graph, degree: NDArray[np.int64], num_hops: int) -> FullSubgraph:
    """All nodes with an edge before the cut, in the store's order: nothing has to be discovered."""
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
def _degrees(graph: Graph) -> NDArray[np.int64]:
    """How many neighbours each node has before the cut."""
    degree = np.empty(len(graph.node_offset) - 1, dtype=np.int64)
    for node in range(len(degree)):
        start, stop = visible_slots(graph, node)
        degree[node] = stop - start
    return degree


@jit
def _expand(
    graph: Graph, place: NDArray[np.int32], nodes: NDArray[np.int64], first: int, known: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
    """Degree, neighbours' places and slots of ``nodes[first:known]``; whoever is new is put behind the known nodes."""
    degree = np.empty(known - first, dtype=np.int64)
    for i in range(len(degree)):
        start, stop = visible_slots(graph, nodes[first + i])
        degree[i] = stop - start
    neighbour = np.empty(degree.sum(), dtype=np.int64)
    slots = np.empty_like(neighbour)
    look, num_nodes = 0, known
    for i in range(len(degree)):
        start = graph.node_offset[nodes[first + i]]
        for slot in range(start, start + degree[i]):
            node = graph.slot_neighbour[slot]
            if place[node] == 0:
                nodes[num_nodes] = node
                num_nodes += 1
                place[node] = num_nodes
            neighbour[look], slots[look] = place[node] - 1, slot
            look += 1
    return degree, neighbour, slots, num_nodes


class EdgeSlots(NamedTuple):
    """Of each edge that is looked at, where its looks stand among some looks."""

    edge: NDArray[np.int64]
    """Numbers of edges in the store, in order."""
    here: NDArray[np.int64]
    there: NDArray[np.int64]
    """-1 where only one end looks: the other was not asked, or is the same."""


def slots_by_edge(edge: NDArray[np.int64], num_edges: int) -> EdgeSlots:
    """The looks at each edge. Costs as much as there are edges in the store.

    Args:
        edge: Of each look its edge's number; none appears more than twice.
    """
    here, there = _slots_by_edge(edge, num_edges)
    found = np.flatnonzero(here >= 0)
    return EdgeSlots(found, here[found], there[found])


@jit
def _slots_by_edge(edge: NDArray[np.int64], num_edges: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    here, there = np.full(num_edges, -1, dtype=np.int64), np.full(num_edges, -1, dtype=np.int64)
    for look in range(len(edge)):
        if here[edge[look]] < 0:
            here[edge[look]] = look
        else:
            there[edge[look]] = look
    return here, there


@dataclass(frozen=True)
class SampledSubgraph:
    """Nodes in the order of their discovery, and who was chosen for whom. See ``gtea.nn.batch``."""

    num_within: tuple[int, ...]
    nodes: NDArray[np.int64]
    """[num_within[L]]: numbers of nodes in the store."""
    neighbour: NDArray[np.int64]
    """[num_within[L - 1], K]: places among ``nodes``, -1 where there is none."""
    edge: NDArray[np.int64]
    """[num_within[L - 1], K]: places among ``edges``, -1 where there is none."""
    edges: NDArray[np.int64]
    """[num_edges]: numbers of edges in the store."""
    seen_from: NDArray[np.int64]
    """[num_edges]: the node in the store that looks at the edge."""
