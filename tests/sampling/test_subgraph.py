from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gtea.errors import UsageError
from gtea.sampling.subgraph import full_subgraph
from gtea.store.graph import graph_of
from gtea.store.store import Store
from gtea.store.view import View


def within(view: View, seeds: list[int], hops: int) -> set[int]:
    """Nodes within so many hops, by walking."""
    found = set(seeds)
    for _ in range(hops):
        found |= {int(v) for u in found for v in view.neighbours(u).nodes}
    return found


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("cut", [0, 20, 1000])
@pytest.mark.parametrize("seeds", [[3], [7, 0, 12], []])
def test_everybody_within_reach_and_all_that_they_look_at(
    random_store: Callable[..., Store], directed: bool, cut: int, seeds: list[int]
) -> None:
    view = random_store(num_events=60, directed=directed).as_of(cut)
    around = full_subgraph(graph_of(view), np.array(seeds, dtype=np.int64), 2)
    assert around.nodes[: len(seeds)].tolist() == seeds
    assert [set(around.nodes[:count]) for count in around.num_within] == [
        within(view, seeds, hops) for hops in range(3)
    ]
    assert len(set(around.nodes)) == len(around.nodes)
    assert len(around.offset) == around.num_within[1] + 1
    for i, node in enumerate(around.nodes[: around.num_within[1]]):
        looks = slice(around.offset[i], around.offset[i + 1])
        expected = view.neighbours(int(node))
        assert around.nodes[around.neighbour[looks]].tolist() == expected.nodes.tolist()
        assert view.arrays.slot_edge[around.slot[looks]].tolist() == expected.edges.tolist()
        assert set(around.slots_of(range(len(around.offset) - 1))[1][looks]) <= {node}


def test_all_nodes_are_the_whole_graph_in_the_stores_order(random_store: Callable[..., Store]) -> None:
    store = random_store()
    around = full_subgraph(graph_of(store.as_of()), np.arange(store.num_nodes), 3)
    assert around.num_within == (store.num_nodes,) * 4
    assert around.nodes.tolist() == list(range(store.num_nodes))
    assert around.slot.tolist() == list(range(len(store.arrays.slot_edge)))
    assert around.neighbour.tolist() == store.arrays.slot_neighbour.tolist()


def test_seeds_are_named_once(random_store: Callable[..., Store]) -> None:
    with pytest.raises(UsageError, match="seeds: must be distinct"):
        full_subgraph(graph_of(random_store().as_of()), np.array([1, 1]), 2)


def test_all_nodes_in_order_see_what_they_see_in_any_order(random_store: Callable[..., Store]) -> None:
    view = random_store().as_of(100)
    graph, everybody = graph_of(view), np.arange(view.store.num_nodes)
    straight, reverse = full_subgraph(graph, everybody, 2), full_subgraph(graph, everybody[::-1], 2)
    assert straight.num_within == reverse.num_within
    for node in everybody:
        place = len(everybody) - 1 - node
        ours = slice(*straight.offset[node : node + 2])
        theirs = slice(*reverse.offset[place : place + 2])
        np.testing.assert_array_equal(straight.slot[ours], reverse.slot[theirs])
        np.testing.assert_array_equal(
            straight.nodes[straight.neighbour[ours]], reverse.nodes[reverse.neighbour[theirs]]
        )
