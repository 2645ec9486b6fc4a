"""Every account's events in time order, as of a cut."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gtea.store.graph import graph_of
from gtea.store.store import Store
from gtea.store.timeline import timeline_of


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("cut", [0, 60, 500])
def test_it_holds_what_the_views_histories_hold(random_store: Callable[..., Store], directed: bool, cut: int) -> None:
    view = random_store(num_events=150, directed=directed).as_of(cut)
    timeline = timeline_of(graph_of(view))
    assert timeline.offset[-1] == len(timeline.time)
    for node in range(view.store.num_nodes):
        own = slice(int(timeline.offset[node]), int(timeline.offset[node + 1]))
        edges = view.neighbours(node).edges
        histories = [view.history_of(int(edge), node).time for edge in edges]
        assert timeline.time[own].tolist() == sorted(int(time) for times in histories for time in times)
        for time, slot, back in zip(timeline.time[own], timeline.slot[own], timeline.back[own], strict=True):
            assert histories[slot][len(histories[slot]) - back] == time
        assert (np.diff(timeline.time[own]) >= 0).all()
