"""Compiled walks against plain ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.live.streams import NAMES, rows_at, store_of_rows

from gtea.live.attention_marks import attended_of, mark_partners, rows_of, spread
from gtea.store.graph import events_of, graph_of


def case(seed: int, directed: bool) -> tuple[Any, Any, Any, list[list[tuple[int, int]]]]:
    """A graph, weights some of which are zero, and each node's neighbours with the number of the pair."""
    generator = np.random.default_rng(seed)
    store = store_of_rows(rows_at(generator, 25, NAMES, 0, 50, 1), directed=directed)
    view = store.as_of(store.end)
    alpha = (generator.random(2 * store.num_edges) * (generator.random(2 * store.num_edges) < 0.6)).astype(np.float32)
    near: list[list[tuple[int, int]]] = []
    for node in range(store.num_nodes):
        found = view.neighbours(node)
        ends = store.arrays.edge_a[found.edges]
        pairs = 2 * found.edges + (ends != node)
        near.append([(int(v), int(pair)) for v, pair in zip(found.nodes, pairs, strict=True)])
    return store, graph_of(view), alpha, near


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_change_reaches_those_who_attend_layer_by_layer(seed: int, directed: bool) -> None:
    store, graph, alpha, near = case(seed, directed)
    generator = np.random.default_rng(seed)
    depth, level = 1 + seed % 3, generator.integers(0, 4, store.num_nodes).astype(np.uint8)
    level[:] = depth + 1
    expected = level.copy()
    for first in (np.array([0, 3]), np.array([3, 5])):
        reached = set(first.tolist())
        for layer in range(depth + 1):
            for node in reached:
                expected[node] = min(expected[node], layer)
            attending = {w for w in range(store.num_nodes) for v, pair in near[w] if v in reached and alpha[pair] > 0}
            reached = reached | attending
        before = level.copy()
        found = spread(graph, alpha, level, first, depth)
        assert level.tolist() == expected.tolist()
        assert sorted(set(found.tolist())) == np.flatnonzero(level < before).tolist()


@pytest.mark.parametrize("directed", [False, True])
def test_rows_partners_and_events_are_those_of_the_view(directed: bool) -> None:
    store, graph, alpha, near = case(7, directed)
    nodes = np.array([4, 0, 2])
    offset, pairs = rows_of(graph, nodes)
    assert [pairs[offset[i] : offset[i + 1]].tolist() for i in range(3)] == [[p for _, p in near[n]] for n in nodes]
    offset, others, pairs = attended_of(graph, alpha, nodes)
    for i, node in enumerate(nodes):
        some = slice(offset[i], offset[i + 1])
        kept = [(v, p) for v, p in near[node] if alpha[p] > 0]
        assert list(zip(others[some].tolist(), pairs[some].tolist(), strict=True)) == kept
    stale = np.zeros(store.num_nodes, dtype=np.bool_)
    stale[near[0][0][0]] = True
    new = mark_partners(graph, stale, nodes)
    assert set(np.flatnonzero(stale)) == {v for node in nodes for v, _ in near[node]}
    assert len(set(new.tolist())) == len(new) == stale.sum() - 1
    lengths = np.diff(store.arrays.edge_offset)
    counted = [sum(lengths[pair // 2] for _, pair in near[node]) for node in range(store.num_nodes)]
    assert events_of(graph, np.arange(store.num_nodes)).tolist() == counted
