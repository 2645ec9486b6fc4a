"""At most K distinct neighbours for each node within reach of the seeds, each node asked once.

A node's choice depends on (seed, epoch, its account, the cut) and nothing else, so it is the same in every batch, at
every hop and for every worker. This is why there is one fan-out for all hops: with K1 at the first hop and K2 at the
second, what a node is given would depend on which other seeds happen to be in the batch. And since a node is asked once
and its slots are distinct, no (edge, looking end) can appear twice: the table of chosen edges needs no deduplication.

In a directed store a pair that pays both ways has two edges and each end two slots: they are chosen, and encoded, as
two neighbours that happen to be the same node. In an undirected store neighbours are distinct nodes.

The cost does not depend on the degree: a binary search for the slots before the cut, then K draws by Floyd's
algorithm (exactly uniform without replacement, K places of memory) or the first K of ``recency_ranks``.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gtea.errors import UsageError
from gtea.runtime.jit import jit
from gtea.runtime.rng import Purpose, below, fold, stream
from gtea.sampling.subgraph import SampledSubgraph
from gtea.store.account_keys import keys_of_all
from gtea.store.graph import Graph, graph_of, visible_events, visible_slots
from gtea.store.view import View

Strategy = Literal["uniform", "recent"]

_FIBONACCI = np.uint64(0x9E3779B97F4A7C15)


class NeighbourSampler:
    """Draws the full_subgraph of seeds in one view."""

    def __init__(self, view: View, fanout: int, num_hops: int, strategy: Strategy = "uniform", seed: int = 0) -> None:
        if fanout < 1 or num_hops < 1:
            raise UsageError(f"fanout, hops: must be at least 1 (got {fanout} and {num_hops}).")
        if strategy not in get_args(Strategy):
            raise UsageError(f"strategy: must be one of {', '.join(get_args(Strategy))} (got {strategy!r}).")
        self.view = view
        self.fanout = fanout
        self.num_hops = num_hops
        self.seed = seed
        self.graph = graph_of(view)
        recent = strategy == "recent"
        self._ranks = recency_ranks(self.graph) if recent else np.zeros(0, dtype=np.uint32)
        self._keys = np.zeros(0, dtype=np.uint64) if recent else keys_of_all(view.store)

    def sample(self, seeds: NDArray[np.integer[Any]], epoch: int = 0) -> SampledSubgraph:
        """The seeds and what was chosen around them.

        Args:
            seeds: Numbers of nodes, each at most once.
        """
        nodes = np.array(seeds, dtype=np.int64)
        self._check(nodes)
        state = stream(self.seed, Purpose.NEIGHBOURS, epoch)
        within = [0, len(nodes)]
        hops: list[tuple[NDArray[np.int64], ...]] = []
        num_edges = 0
        for _ in range(self.num_hops):
            asked = nodes[within[-2] :]
            slots = choose(self.graph, self._ranks, self._keys, asked, self.fanout, state)
            reached, edges, seen_from = _follow(self.graph, asked, slots)
            nodes, places, numbers = _discover(nodes, slots, reached, num_edges)
            hops.append((places, numbers, edges, seen_from))
            within.append(len(nodes))
            num_edges += len(edges)
        return SampledSubgraph(tuple(within[1:]), nodes, *(np.concatenate(parts) for parts in zip(*hops, strict=True)))

    def _check(self, seeds: NDArray[np.int64]) -> None:
        num_nodes = len(self.graph.node_offset) - 1
        ordered = np.sort(seeds)
        if len(seeds) and (ordered[0] < 0 or ordered[-1] >= num_nodes):
            raise UsageError(f"seeds: must be numbers of nodes, 0 to {num_nodes - 1}. Look them up with store.node().")
        if (ordered[1:] == ordered[:-1]).any():
            raise UsageError("seeds: each may be named once. Use numpy.unique with return_inverse=True.")


@jit
def choose(
    graph: Graph,
    ranks: NDArray[np.uint32],
    keys: NDArray[np.uint64],
    nodes: NDArray[np.int64],
    fanout: int,
    state: np.uint64,
) -> NDArray[np.int64]:
    """For each node at most ``fanout`` of its visible slots, -1 in the places that are left over.

    Args:
        ranks: ``recency_ranks``, or empty to choose uniformly.
        keys: Who the accounts are, by node; not read where ranks are given.
        state: The random stream of the epoch.
    """
    chosen = np.full((len(nodes), fanout), -1, dtype=np.int64)
    start, stop = np.empty(len(nodes), dtype=np.int64), np.empty(len(nodes), dtype=np.int64)
    # A loop of its own: it waits for memory and does little else, so the processor can wait for many nodes at once.
    for row in range(len(nodes)):
        start[row], stop[row] = visible_slots(graph, nodes[row])
    for row in range(len(nodes)):
        degree = stop[row] - start[row]
        if degree <= fanout:
            for i in range(degree):
                chosen[row, i] = start[row] + i
        elif len(ranks) > 0:
            for i in range(fanout):
                chosen[row, i] = start[row] + ranks[start[row] + i]
        else:
            draw_distinct(fold(state, keys[nodes[row]]), start[row], degree, chosen[row])
    return chosen


@jit
def draw_distinct(state: np.uint64, start: int, count: int, chosen: NDArray[np.int64]) -> None:
    """Fill ``chosen`` with distinct numbers from ``start : start + count``, every set equally likely (Floyd 1987)."""
    size = len(chosen)
    for i in range(size):
        last = count - size + i
        pick = start + below(fold(state, np.uint64(i)), last + 1)
        taken = False
        for j in range(i):
            taken |= chosen[j] == pick
        chosen[i] = start + last if taken else pick


@jit
def _follow(
    graph: Graph, nodes: NDArray[np.int64], slots: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Where the chosen slots lead, row by row: the other end, the edge, and the node that looks at it."""
    reached = np.empty(slots.size, dtype=np.int64)
    edges, seen_from = np.empty_like(reached), np.empty_like(reached)
    count = 0
    for row in range(slots.shape[0]):
        for i in range(slots.shape[1]):
            if slots[row, i] < 0:
                break
            reached[count] = graph.slot_neighbour[slots[row, i]]
            edges[count] = graph.slot_edge[slots[row, i]]
            seen_from[count] = nodes[row]
            count += 1
    return reached[:count], edges[:count], seen_from[:count]


@jit
def _discover(
    known: NDArray[np.int64], slots: NDArray[np.int64], reached: NDArray[np.int64], num_edges: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The known nodes followed by the new ones among those reached; the place of each, and the number of its edge."""
    nodes = np.empty(len(known) + len(reached), dtype=np.int64)
    bits = 4
    while (1 << bits) < 2 * len(nodes):
        bits += 1
    table = np.full(1 << bits, -1, dtype=np.int32)
    for i in range(len(known)):
        _place(table, bits, nodes, i, known[i])
    places, numbers = np.full(slots.shape, -1, dtype=np.int64), np.full(slots.shape, -1, dtype=np.int64)
    num_nodes, seen = len(known), 0
    for row in range(slots.shape[0]):
        for i in range(slots.shape[1]):
            if slots[row, i] < 0:
                break
            places[row, i] = _place(table, bits, nodes, num_nodes, reached[seen])
            numbers[row, i] = num_edges + seen
            num_nodes += places[row, i] == num_nodes
            seen += 1
    return nodes[:num_nodes].copy(), places, numbers


@jit
def _place(table: NDArray[np.int32], bits: int, nodes: NDArray[np.int64], count: int, node: np.int64) -> np.int64:
    """The place of a node among the first ``count``; a new one is given the place ``count``. Open addressing."""
    mask = len(table) - 1
    probe = np.int64((np.uint64(node) * _FIBONACCI) >> np.uint64(64 - bits))
    while table[probe] >= 0:
        if nodes[table[probe]] == node:
            return np.int64(table[probe])
        probe = (probe + 1) & mask
    table[probe] = count
    nodes[count] = node
    return np.int64(count)


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
