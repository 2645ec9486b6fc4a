"""A store without some events is the store of the rows that are left."""

from __future__ import annotations

import numpy as np
import pytest
from tests.explain.worlds import CUT, between, random_rows, store_of

from gtea.store.store import StoreArrays
from gtea.store.without import events_between, without_events

both_directions = pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])


@both_directions
def test_it_is_the_store_of_the_rows_that_are_left(directed: bool) -> None:
    rows = random_rows(2)
    store = store_of(rows, directed=directed)
    view = store.as_of(10**6)
    for account in ("a00", "a03", "x1"):
        for other in map(int, np.unique(view.neighbours(account).nodes)):
            gone = between(account, store.account(other))
            # Accounts keep their numbers: in the other store, they do as its node table names them all.
            left = store_of(
                [row for row in rows if not gone(row)],
                directed=directed,
                nodes={name: [0.0] for name in store.accounts.take(np.arange(store.num_nodes)).to_pylist()},
                node_features=["x"],
            )
            made = without_events(store, events_between(view, store.node(account), other))
            for name in StoreArrays.__dataclass_fields__:
                np.testing.assert_array_equal(getattr(made.arrays, name), getattr(left.arrays, name), err_msg=name)
            assert (made.num_events, made.num_edges) == (left.num_events, left.num_edges)


def test_single_events_may_go_and_slots_move() -> None:
    rows = random_rows(3)
    store = store_of(rows)
    first = np.flatnonzero(np.diff(store.arrays.edge_offset) > 1)
    events = store.arrays.edge_offset[first]
    made = without_events(store, events)
    assert made.num_events == store.num_events - len(events)
    assert made.num_edges == store.num_edges
    assert (made.arrays.edge_first_time[first] >= store.arrays.edge_first_time[first]).all()
    slots = np.split(made.arrays.slot_first_time, made.arrays.node_offset[1:-1])
    assert all((np.diff(times) >= 0).all() for times in slots)
    assert store.num_events == len(rows)


def test_events_between_are_those_before_the_cut() -> None:
    store = store_of(random_rows(1), directed=True)
    view = store.as_of(50)
    found = events_between(view, store.node("x1"), store.node("x2"))
    assert store.arrays.event_time[found].tolist() == [20, 20]
    assert len(events_between(store.as_of(CUT), store.node("x1"), store.node("x2"))) == 3
    assert len(events_between(view, store.node("x1"), store.node("a00"))) == 0
