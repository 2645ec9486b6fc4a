"""What is computed of an account without some counterparties is that of a store without the events, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.explain.worlds import CUT, random_rows, store_of

from gtea.features.account_statistics import statistics
from gtea.features.neighbour_labels import NeighbourLabelShares, neighbour_labels_of
from gtea.features.partner_statistics import PartnerStatistics
from gtea.features.partners_without import partner_rows_without
from gtea.features.removals import RemovableEvents, Removals
from gtea.features.rhythm_statistics import rhythm_statistics
from gtea.store.store import Store
from gtea.store.view import View
from gtea.store.without import events_between, without_events


def sets_of(count: int) -> NDArray[np.bool_]:
    """Nobody, each, some, all."""
    some = np.random.default_rng(count).random((4, count)) < 0.4
    return np.concatenate([np.zeros((1, count), bool), np.eye(count, dtype=bool), some, np.ones((1, count), bool)])


def views_without(store: Store, view: View, removals: Removals) -> list[View]:
    """A store without the events for each alternative."""
    node, partners = removals.account.node, removals.account.partners
    events = [events_between(view, node, int(other)) for other in partners]
    nothing = np.empty(0, dtype=np.int64)
    return [
        without_events(store, np.concatenate([nothing, *(events[i] for i in np.flatnonzero(lost))])).as_of(CUT)
        for lost in removals.lost
    ]


@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
@pytest.mark.parametrize("features", [True, False], ids=["features", "times only"])
@pytest.mark.parametrize("unit", ["s", "step"])
def test_every_number_is_that_of_a_store_without_the_events(directed: bool, features: bool, unit: str) -> None:
    for seed in (0, 4):
        store = store_of(random_rows(seed), directed=directed, features=features, unit=unit)
        view = store.as_of(CUT)
        labelled = np.arange(0, store.num_nodes, 2)
        labels = neighbour_labels_of(store, labelled, labelled % 4 // 2, ("bad", "good"))
        for account in ("a00", "a03", "a12", "x1"):
            node = np.array([store.node(account)])
            removable = RemovableEvents(view, int(node[0]))
            made = Removals(removable, sets_of(len(removable.partners)))
            views = views_without(store, view, made)
            for found, truth in (
                (made.statistics, [statistics(each, node) for each in views]),
                (made.rhythm, [rhythm_statistics(each, node) for each in views]),
                (NeighbourLabelShares(view, labels).rows_without(made), [
                    NeighbourLabelShares(each, labels).rows(node) for each in views
                ]),
            ):  # fmt: skip
                np.testing.assert_array_equal(found, np.concatenate(truth))


@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_partners_left_are_described_as_they_are(directed: bool) -> None:
    store = store_of(random_rows(4), directed=directed)
    view = store.as_of(CUT)
    for account in ("a00", "a03", "x1"):
        node = np.array([store.node(account)])
        removable = RemovableEvents(view, int(node[0]))
        made = Removals(removable, sets_of(len(removable.partners)))
        truth = [PartnerStatistics(each).rows(node) for each in views_without(store, view, made)]
        np.testing.assert_array_equal(partner_rows_without(PartnerStatistics(view), made), np.concatenate(truth))


def test_an_account_without_events() -> None:
    store = store_of(random_rows(1))
    removable = RemovableEvents(store.as_of(0), store.node("a00"))
    made = Removals(removable, np.zeros((2, 0), dtype=bool))
    assert made.kept.shape == (2, 0)
    assert not made.statistics.any()
    assert not made.rhythm.any()
    np.testing.assert_array_equal(made.original, np.full(2, store.node("a00")))
