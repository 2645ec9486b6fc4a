from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtea.store.graph import first_not_before, graph_of, visible_events, visible_slots
from gtea.store.store import Store


@given(st.lists(st.integers(-5, 5), max_size=12).map(sorted), st.integers(-6, 6))
def test_the_search_is_numpys(values: list[int], limit: int) -> None:
    found = first_not_before(np.array([99, *values, -99], dtype=np.int64), 1, len(values) + 1, limit)
    assert found == 1 + np.searchsorted(np.array(values), limit)


@pytest.mark.parametrize("cut", [-1, 0, 70, 199, 200, 1_000])
def test_ranges_are_the_views_own(random_store: Callable[..., Store], cut: int) -> None:
    view = random_store().as_of(cut)
    graph = graph_of(view)
    nodes, edges = np.arange(view.store.num_nodes), np.arange(view.store.num_edges)
    assert [visible_slots(graph, int(node)) for node in nodes] == list(zip(*view.slot_ranges(nodes), strict=True))
    assert [visible_events(graph, int(edge)) for edge in edges] == list(zip(*view.event_ranges(edges), strict=True))


def test_nothing_is_copied_and_nothing_can_be_written(random_store: Callable[..., Store]) -> None:
    view = random_store().as_of()
    graph = graph_of(view)
    assert all(not array.flags.writeable for array in graph[1:])
    assert np.shares_memory(graph.event_time, view.arrays.event_time)
