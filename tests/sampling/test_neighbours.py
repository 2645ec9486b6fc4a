from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from gtea.errors import UsageError
from gtea.sampling.neighbours import NeighbourSampler, Strategy
from gtea.sampling.subgraph import SampledSubgraph
from gtea.store.memory import store_in_memory
from gtea.store.store import Store


def rows_by_account(sampler: NeighbourSampler, found: SampledSubgraph) -> dict[str, set[tuple[int, int]]]:
    """What each asked node was given, in words that don't depend on the batch: account -> set of (edge, account)."""
    store = sampler.view.store
    rows = {}
    for row, (places, numbers) in enumerate(zip(found.neighbour, found.edge, strict=True)):
        present = places >= 0
        given = zip(found.edges[numbers[present]], found.nodes[places[present]], strict=True)
        rows[store.account(found.nodes[row])] = {(int(edge), int(node)) for edge, node in given}
    return rows


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("strategy", ["uniform", "recent"])
@pytest.mark.parametrize("cut", [0, 40, 200])
def test_tables_agree_with_the_view(
    random_store: Callable[..., Store], directed: bool, strategy: Strategy, cut: int
) -> None:
    view = random_store(directed=directed).as_of(cut)
    sampler = NeighbourSampler(view, fanout=4, num_hops=3, strategy=strategy, seed=5)
    seeds = np.array([7, 3, 21])
    found = sampler.sample(seeds, epoch=2)

    assert found.num_within[0] == 3
    assert found.nodes[:3].tolist() == seeds.tolist()
    assert len(found.nodes) == found.num_within[-1] == len(set(found.nodes.tolist()))
    assert found.neighbour.shape == found.edge.shape == (found.num_within[2], 4)
    assert sorted(found.edge[found.edge >= 0].tolist()) == list(range(len(found.edges)))
    assert len(set(zip(found.edges.tolist(), found.seen_from.tolist(), strict=True))) == len(found.edges)
    for row, node in enumerate(found.nodes[: found.num_within[2]]):
        known = view.neighbours(int(node))
        present = found.neighbour[row] >= 0
        assert np.array_equal(present, found.edge[row] >= 0)
        assert present.sum() == min(4, len(known))
        edges = found.edges[found.edge[row][present]]
        assert len(set(edges.tolist())) == len(edges)
        assert (found.seen_from[found.edge[row][present]] == node).all()
        links = dict(zip(known.edges.tolist(), known.nodes.tolist(), strict=True))
        assert found.nodes[found.neighbour[row][present]].tolist() == [links[edge] for edge in edges.tolist()]


def test_nodes_within_h_hops_are_a_prefix(random_store: Callable[..., Store]) -> None:
    sampler = NeighbourSampler(random_store().as_of(150), fanout=2, num_hops=3)
    found = sampler.sample(np.array([4, 9]))
    within = found.num_within
    for hop in range(3):
        reached = found.neighbour[: within[hop]]
        assert set(range(within[hop], within[hop + 1])) <= set(reached.ravel().tolist())
        assert reached.max() < within[hop + 1]


def test_recent_takes_the_latest(random_store: Callable[..., Store]) -> None:
    view = random_store().as_of(120)
    found = NeighbourSampler(view, fanout=3, num_hops=1, strategy="recent").sample(np.arange(view.store.num_nodes))
    for node in range(view.store.num_nodes):
        edges = view.neighbours(node).edges
        last = {int(edge): view.history_of(int(edge), node).time[-1] for edge in edges}
        chosen = found.edges[found.edge[node][found.edge[node] >= 0]]
        assert sorted(last[int(edge)] for edge in chosen) == sorted(last.values())[-3:]


@pytest.mark.parametrize("strategy", ["uniform", "recent"])
def test_a_node_is_given_the_same_in_every_batch(random_store: Callable[..., Store], strategy: Strategy) -> None:
    sampler = NeighbourSampler(random_store().as_of(180), fanout=3, num_hops=2, strategy=strategy, seed=1)
    together = rows_by_account(sampler, sampler.sample(np.arange(12), epoch=4))
    backwards = rows_by_account(sampler, sampler.sample(np.arange(12)[::-1], epoch=4))
    assert together == backwards
    for seed in range(12):
        alone = rows_by_account(sampler, sampler.sample(np.array([seed]), epoch=4))
        assert alone == {account: together[account] for account in alone}


def test_epochs_and_seeds_choose_anew(random_store: Callable[..., Store]) -> None:
    view = random_store().as_of()
    busiest = np.array([max(range(view.store.num_nodes), key=view.degree)])
    choices = {
        frozenset(NeighbourSampler(view, 3, 1, seed=seed).sample(busiest, epoch).edges.tolist())
        for seed in range(4)
        for epoch in range(4)
    }
    assert len(choices) > 10


def star(num_leaves: int) -> Store:
    return store_in_memory(["hub"] * num_leaves, [f"leaf-{i}" for i in range(num_leaves)], range(num_leaves))


def test_every_set_of_neighbours_is_equally_likely() -> None:
    store = star(6)
    sampler = NeighbourSampler(store.as_of(), fanout=3, num_hops=1, seed=11)
    counts = dict.fromkeys(combinations(range(6), 3), 0)
    for epoch in range(10_000):
        edges = sampler.sample(np.array([store.node("hub")]), epoch).edges
        counts[tuple(sorted(edges.tolist()))] += 1
    assert sum((count - 500) ** 2 / 500 for count in counts.values()) < 43.8  # 19 degrees of freedom, p = 0.001


def test_different_accounts_choose_independently() -> None:
    """Two hubs over the same leaves: if they shared their draws, they would agree every time."""
    leaves = [f"leaf-{i}" for i in range(10)]
    store = store_in_memory(["a"] * 10 + ["b"] * 10, leaves * 2, [*range(10)] * 2)
    sampler = NeighbourSampler(store.as_of(), fanout=1, num_hops=1)
    agreed = 0
    for epoch in range(2_000):
        neighbour = sampler.sample(np.array([store.node("a"), store.node("b")]), epoch).neighbour[:, 0]
        agreed += int(neighbour[0] == neighbour[1])
    assert 150 < agreed < 250


def test_nothing_at_the_cut_is_reached() -> None:
    store = star(20)
    sampler = NeighbourSampler(store.as_of(8), fanout=5, num_hops=1)
    seen = set()
    for epoch in range(200):
        found = sampler.sample(np.array([store.node("hub")]), epoch)
        seen |= {store.account(int(node)) for node in found.nodes[1:]}
    assert seen == {f"leaf-{i}" for i in range(8)}


def test_both_directions_of_a_pair_are_two_neighbours_in_a_directed_store() -> None:
    store = store_in_memory(["a", "b"], ["b", "a"], [1, 2], directed=True)
    found = NeighbourSampler(store.as_of(), fanout=5, num_hops=1).sample(np.array([store.node("a")]))
    assert found.neighbour[0].tolist() == [1, 1, -1, -1, -1]
    assert sorted(found.edges.tolist()) == [0, 1]


def test_a_node_may_be_its_own_neighbour() -> None:
    store = store_in_memory(["a"], ["a"], [1])
    found = NeighbourSampler(store.as_of(), fanout=2, num_hops=2).sample(np.array([0]))
    assert (found.num_within, found.neighbour.tolist()) == ((1, 1, 1), [[0, -1]])


def test_no_seeds(random_store: Callable[..., Store]) -> None:
    found = NeighbourSampler(random_store().as_of(), fanout=2, num_hops=2).sample(np.array([], dtype=np.int64))
    assert found.num_within == (0, 0, 0)
    assert found.neighbour.shape == (0, 2)


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        ([1, 2, 1], "seeds: must be distinct"),
        ([-1], "seeds: must be node numbers from 0 to 30"),
        ([31], "seeds: must be node numbers from 0 to 30"),
    ],
)
def test_seeds_that_cannot_be(random_store: Callable[..., Store], seeds: list[int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        NeighbourSampler(random_store().as_of(), 2, 1).sample(np.array(seeds))


def test_settings_that_cannot_be(random_store: Callable[..., Store]) -> None:
    view = random_store().as_of()
    with pytest.raises(UsageError, match=r"fanout, hops: must be at least 1 \(got 0 and 2\)"):
        NeighbourSampler(view, 0, 2)
    with pytest.raises(UsageError, match=r"strategy: must be one of uniform, recent \(got 'newest'\)"):
        NeighbourSampler(view, 2, 2, "newest")  # type: ignore[arg-type]
