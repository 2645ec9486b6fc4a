"""What is computed of an alternative is what is computed of the account in a store without the events."""

from __future__ import annotations

import numpy as np
import pytest
from tests.explain.worlds import CUT, random_rows, store_of

from gtea.features.account_statistics import statistics
from gtea.features.alternatives import alternatives
from gtea.features.partner_statistics import PartnerStatistics
from gtea.features.rhythm_statistics import rhythm_statistics
from gtea.features.short_sorts import UNKNOWN_ORDER
from gtea.store.without import events_between, without_events


@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_statistics_are_those_of_a_store_without_the_events(directed: bool) -> None:
    store = store_of(random_rows(4), directed=directed)
    view = store.as_of(CUT)
    generator = np.random.default_rng(0)
    for account in ("a00", "a03", "x1"):
        node = store.node(account)
        others = np.unique(view.neighbours(node).nodes)
        pairs = [events_between(view, node, int(other)) for other in others]
        events = np.concatenate(pairs)
        some = [generator.choice(events, len(events) // 2, replace=False) for _ in range(5)]
        for left_out in (pairs, some, [events, events[:0]]):
            made = alternatives(view, np.full(len(left_out), node), left_out)
            stores = [without_events(store, rows).as_of(CUT) for rows in left_out]
            nodes = np.array([node])
            np.testing.assert_array_equal(made.statistics, np.concatenate([statistics(v, nodes) for v in stores]))
            np.testing.assert_array_equal(made.rhythm, np.concatenate([rhythm_statistics(v, nodes) for v in stores]))
        made = alternatives(view, np.full(len(pairs), node), pairs)
        truth = [PartnerStatistics(without_events(store, rows).as_of(CUT)).rows(np.array([node])) for rows in pairs]
        np.testing.assert_array_equal(PartnerStatistics(view).rows_in(made), np.concatenate(truth))


def test_the_order_of_events_is_known_unless_a_slot_moves() -> None:
    store = store_of(random_rows(4))
    view, node = store.as_of(CUT), store.node("a00")
    others = np.unique(view.neighbours(node).nodes)
    pairs = [events_between(view, node, int(other)) for other in others]
    made = alternatives(view, np.array([node]), pairs[:1])
    assert len(made.order) == sum(map(len, pairs[1:]))
    first_gone = [pair[:1] for pair in pairs if len(pair) > 1]
    assert alternatives(view, np.full(len(first_gone), node), first_gone).order is UNKNOWN_ORDER
