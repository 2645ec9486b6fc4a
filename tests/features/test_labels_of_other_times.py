"""What training accounts are told of their neighbours: everything but the labels of those that appeared with them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gtea.features.labels_of_other_times import LabelsOfOtherTimes
from gtea.features.neighbour_labels import NeighbourLabelShares, neighbour_labels_of
from gtea.store.memory import store_in_memory
from gtea.store.store import Store

CLASSES = ("bad", "good")


def test_labels_of_the_own_group_are_hidden_and_all_others_are_not(random_store: Callable[..., Store]) -> None:
    store = random_store(num_events=200)
    view = store.as_of(store.end)
    nodes = np.random.default_rng(0).permutation(store.num_nodes)[:30]
    targets = np.arange(len(nodes)) % 2
    shares = LabelsOfOtherTimes(view, nodes, targets, CLASSES)
    asked = nodes[[29, 0, 4, 17]]
    for node, row in zip(asked, shares(asked), strict=True):
        group = int(np.flatnonzero(nodes == node)[0]) // 3
        others = np.arange(30) // 3 != group
        labels = neighbour_labels_of(store, nodes[others], targets[others], CLASSES)
        np.testing.assert_array_equal(row, NeighbourLabelShares(view, labels).rows(np.array([node]))[0])


def test_a_ring_that_appears_together_knows_nothing_of_itself() -> None:
    """Twenty pairs, each of accounts that only deal with each other, in groups of two pairs."""
    names = [f"{i:02}{side}" for i in range(20) for side in "ab"]
    store = store_in_memory(names[::2], names[1::2], np.arange(20))
    nodes = np.array([store.node(name) for name in names])
    shares = LabelsOfOtherTimes(store.as_of(store.end), nodes, np.zeros(40, dtype=np.int64), CLASSES)
    assert not shares(nodes).any()


def test_fewer_labels_than_groups_are_no_trouble(random_store: Callable[..., Store]) -> None:
    store = random_store(num_events=100)
    nodes = np.array([3, 1])
    assert LabelsOfOtherTimes(store.as_of(store.end), nodes, np.array([0, 1]), CLASSES)(nodes).shape == (2, 4)
