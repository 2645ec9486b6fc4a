from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gtea.sampling.neighbours import recency_ranks
from gtea.store.graph import graph_of
from gtea.store.store import Store


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("cut", [0, 30, 120, 500])
def test_ranks_order_by_last_event_before_the_cut(random_store: Callable[..., Store], directed: bool, cut: int) -> None:
    view = random_store(directed=directed).as_of(cut)
    ranks = recency_ranks(graph_of(view))
    for node in range(view.store.num_nodes):
        edges = view.neighbours(node).edges
        last = [view.history_of(int(edge), node).time[-1] for edge in edges]
        wanted = [i for _, i in sorted((-time, i) for i, time in enumerate(last))]
        start = int(view.arrays.node_offset[node])
        assert ranks[start : start + len(edges)].tolist() == wanted


def test_no_events(random_store: Callable[..., Store]) -> None:
    assert len(recency_ranks(graph_of(random_store(num_events=0).as_of(5)))) == 0


def test_the_order_is_another_one_for_another_cut(random_store: Callable[..., Store]) -> None:
    store = random_store()
    early, late = (recency_ranks(graph_of(store.as_of(cut))) for cut in (100, 200))
    assert not np.array_equal(early, late)
