"""What is known around an account: as the formula says, and never the account's own label."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties.graphs import CUT, PAST, Event, futures, in_memory, pasts

from gtea.features.neighbour_labels import NeighbourLabels, NeighbourLabelShares, neighbour_labels_of
from gtea.features.preprocessing import Preprocessing, fit_preprocessing
from gtea.store.memory import store_in_memory
from gtea.store.store import Store
from gtea.store.view import View

CLASSES = ("bad", "good", "odd")
AROUND_A = {"b": "bad", "c": "good", "d": "bad"}


def known(store: Store, labels: dict[str, str]) -> NeighbourLabels:
    nodes = np.array([store.node(account) for account in labels], dtype=np.int64)
    targets = np.array([CLASSES.index(name) for name in labels.values()], dtype=np.int64)
    return neighbour_labels_of(store, nodes, targets, CLASSES)


def by_hand(view: View, labels: dict[int, int], node: int) -> np.ndarray:
    """The module's formula, pair by pair."""

    def weights(of: int) -> dict[int, float]:
        found: dict[int, float] = {}
        for edge in view.neighbours(of).edges:
            ends = {int(view.arrays.edge_a[edge]), int(view.arrays.edge_b[edge])} - {of}
            for other in ends:
                events = len(view.history_of(int(edge), of).time)
                found[other] = found.get(other, 0) + np.log1p(events)
        return found

    def near(of: int, without: int | None) -> np.ndarray:
        shares, around = np.zeros(len(CLASSES)), weights(of)
        for other, weight in around.items():
            if other in labels and other != without:
                shares[labels[other]] += weight / sum(around.values())
        return shares

    following, around = np.zeros(len(CLASSES)), weights(node)
    for other, weight in around.items():
        following += weight / sum(around.values()) * near(other, node)
    return np.concatenate([near(node, None), following])


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("cut", [0, 1, 50, 200])
def test_shares_are_what_the_formula_says(random_store: Callable[..., Store], directed: bool, cut: int) -> None:
    store = random_store(directed=directed, num_events=150)
    labels = {f"account-{i}": CLASSES[i % 3] for i in range(0, 30, 2)}
    by_node = {store.node(account): CLASSES.index(name) for account, name in labels.items()}
    view = store.as_of(cut)
    rows = NeighbourLabelShares(view, known(store, labels)).rows(np.arange(store.num_nodes))
    for node in range(store.num_nodes):
        np.testing.assert_allclose(rows[node], by_hand(view, by_node, node), atol=1e-4)


@given(past=pasts, directed=st.booleans(), own=st.sampled_from([None, *CLASSES]), others=st.data())
def test_an_account_s_own_label_never_shows(
    past: list[Event], directed: bool, own: str | None, others: st.DataObject
) -> None:
    store = in_memory(past, directed=directed, extra_nodes=False)
    drawn = {account: others.draw(st.sampled_from([None, *CLASSES])) for account in PAST[1:]}
    labels = {account: name for account, name in drawn.items() if name is not None}
    first = known(store, {**labels, PAST[0]: "bad"})
    second = known(store, labels if own is None else {**labels, PAST[0]: own})
    asked = np.array([store.node(PAST[0])])
    rows = [NeighbourLabelShares(store.as_of(CUT), labels).rows(asked).tobytes() for labels in (first, second)]
    assert rows[0] == rows[1]


@given(past=pasts, one=futures, other=futures, directed=st.booleans())
def test_the_future_changes_nothing(past: list[Event], one: list[Event], other: list[Event], directed: bool) -> None:
    rows = []
    for events in ([*past, *one], [*other, *past]):
        store = in_memory(events, directed=directed, extra_nodes=False)
        labels = known(store, {account: CLASSES[i % 3] for i, account in enumerate(PAST[::2])})
        nodes = np.array([store.node(account) for account in PAST])
        rows.append(NeighbourLabelShares(store.as_of(CUT), labels).rows(nodes).tobytes())
    assert rows[0] == rows[1]


def test_a_small_case() -> None:
    """a met b twice, c and x once; d met x once."""
    store = store_in_memory(["a", "b", "c", "a", "d"], ["b", "a", "a", "x", "x"], [1, 2, 3, 4, 5])
    shares = NeighbourLabelShares(store.as_of(), known(store, AROUND_A)).rows(np.array([store.node("a")]))[0]
    twice, once = np.log(3), np.log(2)
    whole = twice + 2 * once
    expected = [twice / whole, once / whole, 0, once / whole / 2, 0, 0]
    np.testing.assert_allclose(shares, expected, atol=1e-4)


def test_a_row_does_not_depend_on_the_others(random_store: Callable[..., Store]) -> None:
    store = random_store()
    labels = known(store, {f"account-{i}": CLASSES[i % 3] for i in range(20)})
    together = NeighbourLabelShares(store.as_of(120), labels).rows(np.arange(store.num_nodes))
    for node in (0, 3, 17):
        alone = NeighbourLabelShares(store.as_of(120), labels).rows(np.array([node]))
        assert alone[0].tobytes() == together[node].tobytes()


def test_labels_of_accounts_that_a_store_doesn_t_know_are_no_trouble() -> None:
    trained = store_in_memory(["a", "b", "c", "d"], ["b", "c", "d", "a"], [1, 2, 3, 4])
    labels = known(trained, AROUND_A)
    other = store_in_memory(["a", "y"], ["b", "z"], [1, 2])
    rows = NeighbourLabelShares(other.as_of(), labels).rows(np.arange(4))
    assert rows[other.node("a")].tolist() == [1, 0, 0, 0, 0, 0]
    assert not rows[[other.node("y"), other.node("z")]].any()
    nothing = NeighbourLabels(CLASSES, (), ())
    assert not NeighbourLabelShares(other.as_of(), nothing).rows(np.arange(4)).any()


def test_it_goes_into_a_model_s_file_and_comes_back(random_store: Callable[..., Store]) -> None:
    store = random_store()
    labels = known(store, {f"account-{i}": CLASSES[i % 3] for i in range(20)})
    preprocessing = fit_preprocessing(store.as_of(120), labels=labels)
    assert preprocessing.neighbour_labels == labels
    assert labels.names == ("known_near_bad", "known_near_good", "known_near_odd",
                                               "known_next_bad", "known_next_good", "known_next_odd")  # fmt: skip
    assert Preprocessing.from_json(json.loads(json.dumps(preprocessing.to_json()))) == preprocessing
    without = dataclasses.replace(preprocessing, neighbour_labels=None)
    assert Preprocessing.from_json(without.to_json()).neighbour_labels is None
