from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from gtea.errors import DataError
from gtea.sampling.negatives import NegativeSampler, linked
from gtea.store.graph import graph_of
from gtea.store.memory import store_in_memory
from gtea.store.store import Store
from gtea.store.view import View


def partners(view: View, node: int) -> set[int]:
    return {int(other) for other in view.neighbours(node).nodes}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("cut", [30, 120])
def test_negatives_are_receivers_without_a_past_with_the_source(
    random_store: Callable[..., Store], directed: bool, cut: int
) -> None:
    view = random_store(num_events=300, num_accounts=40, directed=directed).as_of(cut)
    sampler = NegativeSampler(view, seed=3)
    arrays = view.arrays
    edge = np.repeat(np.arange(view.store.num_edges), np.diff(arrays.edge_offset))
    receiver = np.where(arrays.event_reverse == 0, arrays.edge_b[edge], arrays.edge_a[edge])
    assert sampler.candidates.tolist() == sorted(set(receiver[arrays.event_time < cut].tolist()))

    sources = np.repeat(np.arange(40), 5)
    drawn = sampler.draw(sources, np.arange(200))
    for source, item in zip(sources.tolist(), drawn.tolist(), strict=True):
        assert item in sampler.candidates
        assert item not in partners(view, source) | {source}


@pytest.mark.parametrize("directed", [False, True])
def test_linked_is_what_the_view_says(random_store: Callable[..., Store], directed: bool) -> None:
    view = random_store(directed=directed).as_of(60)
    graph = graph_of(view)
    for u in range(0, 31, 3):
        assert {v for v in range(31) if linked(graph, u, v)} == partners(view, u)


def shop(num_items: int, bought: Sequence[int]) -> Store:
    """User "u" has bought some items, a rival has bought all."""
    items = [f"item-{i:03d}" for i in range(num_items)]
    src, dst = ["rival"] * num_items + ["u"] * len(bought), items + [items[i] for i in bought]
    return store_in_memory(src, dst, range(len(src)))


@pytest.mark.parametrize(
    ("num_items", "bought"), [(5, [1, 3]), (200, list(range(197)))], ids=["by trying", "by counting"]
)
def test_every_item_is_equally_likely(num_items: int, bought: list[int]) -> None:
    store = shop(num_items, bought)
    user = np.full(9_000, store.node("u"))
    drawn = NegativeSampler(store.as_of(), seed=1).draw(user, np.arange(9_000))
    accounts, counts = np.unique(drawn, return_counts=True)
    assert [store.account(int(i)) for i in accounts] == [f"item-{i:03d}" for i in range(num_items) if i not in bought]
    assert ((counts - 3_000) ** 2 / 3_000).sum() < 13.8  # 2 degrees of freedom, p = 0.001


def test_a_draw_belongs_to_its_pair_and_epoch() -> None:
    store = shop(50, [0])
    sampler = NegativeSampler(store.as_of(), seed=1)
    user = np.full(100, store.node("u"))
    together = sampler.draw(user, np.arange(100), epoch=2)
    assert sampler.draw(user[:1], np.array([42]), epoch=2)[0] == together[42]
    assert not np.array_equal(sampler.draw(user, np.arange(100), epoch=3), together)
    assert not np.array_equal(NegativeSampler(store.as_of(), seed=2).draw(user, np.arange(100), epoch=2), together)


def test_a_source_that_has_dealt_with_everybody() -> None:
    store = shop(4, [0, 1, 2, 3])
    with pytest.raises(DataError, match="'u': has dealt with all 4 accounts that receive anything before the cut"):
        NegativeSampler(store.as_of()).draw(np.array([store.node("u")]), np.array([0]))


def test_a_store_in_which_nobody_receives() -> None:
    store = shop(4, [])
    with pytest.raises(DataError, match="'rival': has dealt with all 0 accounts"):
        NegativeSampler(store.as_of(0)).draw(np.array([store.node("rival")]), np.array([0]))


def test_no_pairs() -> None:
    drawn = NegativeSampler(shop(4, []).as_of()).draw(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert drawn.tolist() == []


def test_who_has_a_negative_at_all() -> None:
    store = shop(40, range(40))
    sampler = NegativeSampler(store.as_of())
    assert sampler.has_negatives(np.array([store.node("u"), store.node("item-003")])).tolist() == [False, True]
    almost = shop(40, range(39))
    assert NegativeSampler(almost.as_of()).has_negatives(
        np.array([almost.node("u"), almost.node("rival")])
    ).tolist() == [
        True,
        False,
    ]
