"""Single events before each query: the right ones, strictly before, at every hop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gtea.config import FeaturesConfig
from gtea.features.preprocessing import fit_preprocessing
from gtea.sampling.event_batches import EventCollator, choose_events, follow_events, gather_events
from gtea.sampling.neighbours import Strategy
from gtea.store.account_keys import keys_of_all
from gtea.store.graph import Graph, graph_of
from gtea.store.memory import store_in_memory
from gtea.store.store import Store
from gtea.store.timeline import Timeline, timeline_of
from gtea.store.view import View

NONE = np.zeros(0, dtype=np.uint64)


def events_of(view: View, node: int) -> list[Any]:
    """A node's events before the cut, in time order, by looking through its neighbours: time, other end, sent, row."""
    found: list[Any] = []
    for other, edge in zip(*(getattr(view.neighbours(node), name) for name in ("nodes", "edges")), strict=True):
        history = view.history_of(int(edge), node)
        gaps = np.diff(history.time, prepend=history.time[:1])
        found += zip(
            history.time, [int(other)] * len(history), history.sent, gaps, history.features.tolist(), strict=True
        )
    return sorted(found, key=lambda event: event[0])


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("cut", [0, 50, 130, 1000])
def test_the_timeline_is_every_nodes_events_in_order(
    random_store: Callable[..., Store], directed: bool, cut: int
) -> None:
    store = random_store(directed=directed)
    view = store.as_of(cut)
    graph = graph_of(view)
    timeline = timeline_of(graph)
    for node in range(store.num_nodes):
        places = np.arange(timeline.offset[node], timeline.offset[node + 1])
        expected = events_of(view, node)
        assert timeline.time[places].tolist() == [time for time, *_ in expected]
        reached, times = follow_events(graph, timeline, np.array([node]), places[None])
        assert list(zip(times, reached, strict=True)) == [(time, other) for time, other, *_ in expected]
        read = gather_events(graph, timeline, np.array([node]), places[None])
        read_rows = zip(read.time, reached, read.sent, read.gap, read.features.tolist(), strict=True)
        assert list(read_rows) == expected


def test_recent_takes_the_last_events_strictly_before_the_query(random_store: Callable[..., Store]) -> None:
    view = random_store().as_of(150)
    timeline = timeline_of(graph_of(view))
    for node in range(0, 30, 3):
        for time in (0, 1, 40, 41, 149, 150, 10_000):
            chosen = choose_events(timeline, NONE, np.array([node]), np.array([time]), 5, np.uint64(1))[0]
            times = timeline.time[chosen[chosen >= 0]].tolist()
            before = [event[0] for event in events_of(view, node) if event[0] < time]
            assert times == before[::-1][:5]


def test_uniform_draws_distinct_events_and_all_of_them_sometimes(random_store: Callable[..., Store]) -> None:
    store = random_store()
    view = store.as_of(150)
    timeline, keys = timeline_of(graph_of(view)), keys_of_all(store)
    node = int(np.argmax(np.diff(timeline.offset)))
    seen = set()
    for state in range(200):
        chosen = choose_events(timeline, keys, np.array([node]), np.array([100]), 5, np.uint64(state))[0]
        assert len(set(chosen.tolist())) == 5
        assert (timeline.time[chosen] < 100).all()
        seen |= set(chosen.tolist())
    assert len(seen) == sum(event[0] < 100 for event in events_of(view, node))


def collator(view: View, strategy: Strategy, **options: Any) -> EventCollator:
    preprocessing = fit_preprocessing(view, FeaturesConfig(d_random=4), kinds=("given", "random"))
    return EventCollator(view, preprocessing, strategy=strategy, **{"fanout": 4, "num_layers": 2, **options})


@pytest.mark.parametrize("strategy", ["uniform", "recent"])
def test_a_seed_is_given_the_same_in_any_company(random_store: Callable[..., Store], strategy: Strategy) -> None:
    made = collator(random_store().as_of(150), strategy)
    together = made.batch(np.arange(30))
    for seed in (0, 7, 29):
        alone = made.batch(np.array([seed]))
        assert (alone.age[0] == together.age[seed]).all()
        assert (alone.event_features[0] == together.event_features[seed]).all()
        for place in np.flatnonzero(alone.reached[0].numpy() >= 0):
            ours, theirs = int(alone.reached[0, place]), int(together.reached[seed, place])
            assert (alone.age[ours] == together.age[theirs]).all()
            assert (alone.node_features[ours] == together.node_features[theirs]).all()


def test_queries_stand_hop_after_hop_and_each_is_led_to_once(random_store: Callable[..., Store]) -> None:
    batch = collator(random_store().as_of(150), "uniform", num_layers=3).batch(np.arange(12))
    within = batch.num_within
    assert within[0] == 12
    assert len(batch.reached) == within[-2]
    reached = batch.reached[batch.reached >= 0]
    assert reached.tolist() == list(range(12, within[-1]))
    for hop in range(len(within) - 1):
        rows = batch.reached[within[hop - 1] if hop else 0 : within[hop]]
        assert (rows < within[hop + 1]).all()


accounts = st.sampled_from([f"n{i}" for i in range(6)])
rows = st.lists(st.tuples(accounts, accounts, st.integers(0, 99), st.sampled_from([1.0, 2.0])), min_size=1, max_size=25)


@settings(max_examples=200, deadline=None)
@given(past=rows, node=st.integers(0, 5), time=st.integers(0, 100), uniform=st.booleans(), data=st.data())
def test_a_query_sees_nothing_at_or_after_its_time_at_any_hop(
    past: list[tuple[str, str, int, float]], node: int, time: int, uniform: bool, data: st.DataObject
) -> None:
    """Whatever happens between the query's time and the cut, the tree of events below the query stays as it is."""
    later = data.draw(st.lists(st.tuples(accounts, accounts, st.integers(time, 150), st.just(9.0)), max_size=10))
    before = [row for row in past if row[2] < time]
    everybody = [(f"n{i}", f"n{i}x", -1, 0.0) for i in range(6)]  # so that all accounts have the same numbers
    trees = []
    for events in ([*before, *everybody], [*later, *before, *everybody]):
        src, dst, times, amounts = zip(*events, strict=True)
        store = store_in_memory(src, dst, times, features={"amount": amounts}, unit="step")
        graph = graph_of(store.as_of(200))
        timeline = timeline_of(graph)
        keys = keys_of_all(store) if uniform else NONE
        trees.append(below(graph, timeline, keys, store.node(f"n{node}"), time, hops=3))
    assert trees[0] == trees[1]


def below(graph: Graph, timeline: Timeline, keys: NDArray[np.uint64], node: int, time: int, hops: int) -> Any:
    """All that a query leads to, and when; checks on the way that time only runs backwards."""
    if hops == 0:
        return (node, time)
    places = choose_events(timeline, keys, np.array([node]), np.array([time]), 3, np.uint64(5))
    nodes, times = follow_events(graph, timeline, np.array([node]), places)
    features = gather_events(graph, timeline, np.array([node]), places).features.tolist()
    assert (times < time).all()
    led_to = [below(graph, timeline, keys, int(n), int(t), hops - 1) for n, t in zip(nodes, times, strict=True)]
    return (node, time, features, led_to)
