"""Activity time, against counting the events one by one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gtea.features.activity_time import activity_graph
from gtea.store.graph import graph_of, visible_events, visible_slots
from gtea.store.store import Store


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("cut", [0, 1, 50, 200])
def test_an_instant_is_the_number_of_events_before_it(
    random_store: Callable[..., Store], directed: bool, cut: int
) -> None:
    view = random_store(directed=directed).as_of(cut)
    graph, clock = activity_graph(view), graph_of(view)
    before = [t for t in clock.event_time if t < cut]
    assert graph.cut == len(before)
    assert graph.event_time.tolist() == [sum(t < time for t in before) for time in clock.event_time]
    for name in ("edge_first_time", "edge_last_time", "slot_first_time"):
        assert getattr(graph, name).tolist() == [sum(t < time for t in before) for time in getattr(clock, name)]


@pytest.mark.parametrize("cut", [0, 1, 50, 200])
def test_the_same_slots_and_events_are_visible(random_store: Callable[..., Store], cut: int) -> None:
    view = random_store().as_of(cut)
    graph, clock = activity_graph(view), graph_of(view)
    for node in range(view.store.num_nodes):
        assert visible_slots(graph, node) == visible_slots(clock, node)
    for edge in range(view.store.num_edges):
        assert visible_events(graph, edge) == visible_events(clock, edge)


def test_the_future_changes_no_time_before_the_cut(random_store: Callable[..., Store]) -> None:
    store = random_store()
    early, late = (activity_graph(store.as_of(cut)) for cut in (100, 200))
    past = graph_of(store.as_of(100)).event_time < 100
    np.testing.assert_array_equal(early.event_time[past], late.event_time[past])
