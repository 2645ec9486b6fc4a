from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gtea.store.graph import graph_of
from gtea.store.histories import gather_histories
from gtea.store.store import Store


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("cut", [1, 60, 300])
@pytest.mark.parametrize("max_events", [0, 1, 3])
def test_histories_are_the_views_own(
    random_store: Callable[..., Store], directed: bool, cut: int, max_events: int
) -> None:
    view = random_store(num_events=600, num_accounts=12, directed=directed).as_of(cut)
    looks = [(int(edge), node) for node in range(view.store.num_nodes) for edge in view.neighbours(node).edges]
    edges, nodes = np.array(looks, dtype=np.int64).reshape(-1, 2).T.copy()
    found = gather_histories(graph_of(view), edges, nodes, max_events)

    assert found.offset[-1] == len(found.time)
    assert found.pair_start.tolist() == [view.history_of(edge, node).time[0] for edge, node in looks]
    for i, (edge, node) in enumerate(looks):
        rows = slice(found.offset[i], found.offset[i + 1])
        whole = view.history_of(edge, node)
        kept = slice(max(0, len(whole) - max_events) if max_events else 0, None)
        assert found.time[rows].tolist() == whole.time[kept].tolist()
        assert found.sent[rows].tolist() == whole.sent[kept].tolist()
        assert found.gap[rows].tolist() == np.diff(whole.time, prepend=whole.time[0])[kept].tolist()
        np.testing.assert_array_equal(found.features[rows], whole.features[kept])
        np.testing.assert_array_equal(found.categories[rows], whole.categories[kept])


def test_an_edge_without_visible_events_has_an_empty_history(random_store: Callable[..., Store]) -> None:
    view = random_store().as_of(0)
    found = gather_histories(graph_of(view), np.array([0, 1]), view.arrays.edge_a[:2].astype(np.int64), 5)
    assert found.offset.tolist() == [0, 0, 0]


def test_no_edges(random_store: Callable[..., Store]) -> None:
    found = gather_histories(graph_of(random_store().as_of()), np.zeros(0, np.int64), np.zeros(0, np.int64), 5)
    assert found.offset.tolist() == [0]
    assert found.features.shape == (0, 2)
