"""An account's events side by side are those that its neighbours tell of."""

from __future__ import annotations

import numpy as np
import pytest
from tests.explain.worlds import CUT, random_rows, store_of

from gtea.features.account_events import IN, LOOP, OUT, account_events


@pytest.mark.parametrize("directed", [False, True])
def test_they_are_the_histories_with_all_neighbours(directed: bool) -> None:
    store = store_of(random_rows(3), directed=directed)
    view = store.as_of(CUT)
    for node in range(store.num_nodes):
        found, neighbours = account_events(view, node), view.neighbours(node)
        assert found.slot_start[-1] == len(found.time)
        for slot, (other, edge) in enumerate(zip(neighbours.nodes, neighbours.edges, strict=True)):
            history, part = view.history_of(int(edge), node), slice(*found.slot_start[slot : slot + 2])
            np.testing.assert_array_equal(found.time[part], history.time)
            np.testing.assert_array_equal(found.features[part], history.features)
            expected = np.full(len(history), LOOP) if other == node else np.where(history.sent, OUT, IN)
            np.testing.assert_array_equal(found.side[part], expected)
            assert np.unique(neighbours.nodes)[found.slot_partner[slot]] == other
            np.testing.assert_array_equal(np.sort(found.order[found.slot == slot]), np.arange(part.start, part.stop))
        assert (np.diff(found.time[found.order]) >= 0).all()


def test_equal_times_keep_the_order_of_slots() -> None:
    store = store_of(random_rows(3))
    found = account_events(store.as_of(CUT), store.node("a00"))
    same = np.diff(found.time[found.order]) == 0
    assert same.any()
    assert (np.diff(found.order)[same] > 0).all()
