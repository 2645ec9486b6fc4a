"""Activity times that are looked up, and statistics of pairs made of them, against those of the whole graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gtea.features.activity_time import activity_graph
from gtea.features.pair_statistics import PairStatistics, PairStatisticsApart
from gtea.features.time_lookup import TimeLookup, activity_time_of, as_they_are, begin_of, lookup_of
from gtea.store.graph import Graph, graph_of
from gtea.store.memory import store_in_memory
from gtea.store.store import Store
from gtea.store.view import View


def table_of(view: View) -> TimeLookup:
    times = np.sort(view.arrays.event_time[view.arrays.event_time < view.cut])
    time, counts = np.unique(times, return_counts=True)
    return lookup_of(time, np.cumsum(counts) - counts, len(times))


@pytest.mark.parametrize("cut", [0, 1, 50, 200])
def test_every_time_has_the_number_of_events_before_it(random_store: Callable[..., Store], cut: int) -> None:
    view = random_store().as_of(cut)
    lookup, active, clock = table_of(view), activity_graph(view), graph_of(view)
    found = [activity_time_of(lookup, int(time)) for time in clock.event_time if time < cut]
    assert found == active.event_time[clock.event_time < cut].tolist()
    assert activity_time_of(lookup, cut) == active.cut
    assert [activity_time_of(as_they_are(), time) for time in (-3, 0, 7)] == [-3, 0, 7]


@pytest.mark.parametrize("cut", [50, 200])
def test_a_time_is_after_a_moment_if_its_own_is(random_store: Callable[..., Store], cut: int) -> None:
    view = random_store().as_of(cut)
    lookup, graph = table_of(view), graph_of(view)
    times = [int(time) for time in graph.event_time if time < cut]
    for activity_time in (-5, 0, 1, 7, len(times) - 1, len(times), len(times) + 3):
        begin = begin_of(graph, lookup, activity_time)
        assert [time >= begin for time in times] == [activity_time_of(lookup, time) >= activity_time for time in times]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("activity", [False, True])
@pytest.mark.parametrize("cut", [3, 250])
def test_statistics_of_pairs_apart_are_those_of_the_whole_graph(directed: bool, activity: bool, cut: int) -> None:
    """To the bit: with pairs that never met, accounts without an event, those that deal with themselves, and a hub."""
    rng = np.random.default_rng(0)
    src, dst = (rng.integers(0, 40, 2000) ** 2 // 40 for _ in range(2))
    src[:200] = 3
    froms, tos = (np.char.add("n", each.astype(str)).tolist() for each in (src, dst))
    store = store_in_memory(froms, tos, rng.integers(0, 300, 2000).tolist(), unit="step", directed=directed)
    view = store.as_of(cut)
    graph: Graph = activity_graph(view) if activity else graph_of(view)
    pairs = np.array([(a, b) for a in range(store.num_nodes) for b in range(store.num_nodes)]).T
    expected = PairStatistics(graph, 25.0).rows(pairs[0], pairs[1])
    apart = PairStatisticsApart(graph_of(view), table_of(view) if activity else as_they_are(), 25.0)
    known = apart.of_accounts(np.arange(store.num_nodes))
    found = apart.rows(pairs[0], pairs[1], known[pairs[0]], known[pairs[1]])
    assert found.tobytes() == expected.tobytes()
    assert np.isnan(expected).any(axis=0).sum() == (7 if cut == 3 else 3)
