"""Neighbour sampling: up to K distinct neighbours of each node reached from the seeds. Each node is expanded once.

A node's sample is a pure function of (seed, epoch, its account, the cut). It is therefore the same in every batch, at
every hop and for every worker. This is why there is one fan-out for all hops: with K1 at the first hop and K2 at the
second, a node's sample would depend on the other seeds in the batch. Since each node is expanded once and its slots are
distinct, no (edge, end) appears twice, and the table of sampled edges needs no deduplication.

In a directed store a pair with events in both directions has two edges, and each end has two slots. They are sampled
and encoded as two neighbours that happen to be the same node. In an undirected store neighbours are distinct nodes.

The cost does not depend on the degree: a binary search for the slots before the cut, then either K draws by Floyd's
algorithm (exactly uniform without replacement, O(K) memory) or the first K of ``recency_ranks``.

Recency: on disk a node's slots are ordered by the FIRST events of their edges, which is the same order for every cut.
The order by LAST event before the cut differs from cut to cut and can't be stored. ``recency_ranks`` builds it in
memory for one cut: one search for the last visible event of each edge, and one sort of each node's slots. The K most
recent neighbours of a hub then cost the same as those of a leaf. The price: a pass over all slots (2 s for 15.6
million, on one core) and four bytes per slot, for every new cut. A timeline of every node's events would serve all
cuts, but it takes 24 bytes for each end of each EVENT, and finding K distinct neighbours in it needs a search tree on
top.
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
"""2^64 divided by the golden ratio, for Fibonacci hashing."""


class NeighbourSampler:
    """Samples the subgraph of seeds in one view."""

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
        """The sampled subgraph of some seeds.

        Args:
            seeds: Distinct node numbers.
        """
        nodes = np.array(seeds, dtype=np.int64)
        self._check(nodes)
        state = stream(self.seed, Purpose.NEIGHBOURS, epoch)
        within = [0, len(nodes)]
        hops: list[tuple[NDArray[np.int64], ...]] = []
        num_edges = 0
        for _ in range(self.num_hops):
            frontier = nodes[within[-2] :]
            slots = _choose_slots(self.graph, self._ranks, self._keys, frontier, self.fanout, state)
            reached, edges, seen_from = _follow(self.graph, frontier, slots)
            nodes, neighbour, edge = _add_nodes(nodes, slots, reached, num_edges)
            hops.append((neighbour, edge, edges, seen_from))
            within.append(len(nodes))
            num_edges += len(edges)
        return SampledSubgraph(tuple(within[1:]), nodes, *(np.concatenate(parts) for parts in zip(*hops, strict=True)))

    def _check(self, seeds: NDArray[np.int64]) -> None:
        num_nodes = len(self.graph.node_offset) - 1
        ordered = np.sort(seeds)
        if len(seeds) and (ordered[0] < 0 or ordered[-1] >= num_nodes):
            raise UsageError(f"seeds: must be node numbers from 0 to {num_nodes - 1}. Get them with store.node().")
        if (ordered[1:] == ordered[:-1]).any():
            raise UsageError("seeds: must be distinct. Use numpy.unique with return_inverse=True.")


@jit
def recency_ranks(graph: Graph) -> NDArray[np.uint32]:
    """For each node, from its first slot on: its visible slots, counted within the node, most recent first.

    Of two edges with the same last time, the one with the earlier first event comes first.
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


@jit
def draw_distinct(state: np.uint64, start: int, count: int, chosen: NDArray[np.int64]) -> None:
    """Fill ``chosen`` with distinct numbers in start : start + count, every set equally likely (Floyd 1987)."""
    size = len(chosen)
    for i in range(size):
        last = count - size + i
        pick = start + below(fold(state, np.uint64(i)), last + 1)
        taken = False
        for j in range(i):
            taken |= chosen[j] == pick
        chosen[i] = start + last if taken else pick


@jit
def _choose_slots(
    graph: Graph,
    ranks: NDArray[np.uint32],
    keys: NDArray[np.uint64],
    nodes: NDArray[np.int64],
    fanout: int,
    state: np.uint64,
) -> NDArray[np.int64]:
    """For each node up to ``fanout`` of its visible slots, padded with -1.

    Args:
        ranks: ``recency_ranks``, or empty to choose uniformly.
        keys: Account keys by node; not read if ranks are given.
        state: The random stream of the epoch.
    """
    chosen = np.full((len(nodes), fanout), -1, dtype=np.int64)
    start, stop = np.empty(len(nodes), dtype=np.int64), np.empty(len(nodes), dtype=np.int64)
    # In a separate loop, because it is bound by memory latency: the processor overlaps the searches of many nodes.
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
def _follow(
    graph: Graph, nodes: NDArray[np.int64], slots: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The neighbour, the edge and the node of each chosen slot, row by row."""
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
def _add_nodes(
    found: NDArray[np.int64], slots: NDArray[np.int64], reached: NDArray[np.int64], num_edges: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Append the nodes reached for the first time.

    Returns:
        The nodes found so far followed by the new ones; and for each chosen slot the index of its neighbour among them,
        and of its edge, counted from ``num_edges``. Both are -1 in the padding.
    """
    nodes = np.empty(len(found) + len(reached), dtype=np.int64)
    bits = 4
    while (1 << bits) < 2 * len(nodes):
        bits += 1
    table = np.full(1 << bits, -1, dtype=np.int32)
    for i in range(len(found)):
        _find_or_add(table, bits, nodes, i, found[i])
    neighbour, edge = np.full(slots.shape, -1, dtype=np.int64), np.full(slots.shape, -1, dtype=np.int64)
    num_nodes, count = len(found), 0
    for row in range(slots.shape[0]):
        for i in range(slots.shape[1]):
            if slots[row, i] < 0:
                break
            neighbour[row, i] = _find_or_add(table, bits, nodes, num_nodes, reached[count])
            edge[row, i] = num_edges + count
            num_nodes += neighbour[row, i] == num_nodes
            count += 1
    return nodes[:num_nodes].copy(), neighbour, edge


@jit
def _find_or_add(table: NDArray[np.int32], bits: int, nodes: NDArray[np.int64], count: int, node: np.int64) -> np.int64:
    """The index of a node among the first ``count``; a new node is added at ``count``. Open addressing."""
    mask = len(table) - 1
    probe = np.int64((np.uint64(node) * _FIBONACCI) >> np.uint64(64 - bits))
    while table[probe] >= 0:
        if nodes[table[probe]] == node:
            return np.int64(table[probe])
        probe = (probe + 1) & mask
    table[probe] = count
    nodes[count] = node
    return np.int64(count)
