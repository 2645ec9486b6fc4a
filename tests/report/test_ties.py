from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from gtea.errors import StoreError
from gtea.report import ties
from gtea.report.ties import Contact, edges_among, shared_contacts, ties_between
from gtea.store.memory import store_in_memory


@pytest.mark.parametrize("hub", [0, 50])
@pytest.mark.parametrize("directed", [False, True])
def test_ties_are_those_of_all_pairs(
    random_store: Any, monkeypatch: pytest.MonkeyPatch, directed: bool, hub: int
) -> None:
    monkeypatch.setattr(ties, "_HUB", hub)
    store = random_store(3, num_events=200, directed=directed)
    view, nodes = store.as_of(120), list(range(4, 20))
    wanted = [
        (i, j)
        for i, j in combinations(range(len(nodes)), 2)
        if len(view.history(nodes[i], nodes[j])) or len(view.history(nodes[j], nodes[i]))
    ]
    assert ties_between(view, nodes) == wanted
    assert len(edges_among(view, nodes)) >= len(wanted)


def test_an_edge_whose_ends_are_others_is_damage() -> None:
    """Of a store that a stranger made: its digests fit, and its indices are in bounds."""
    store = store_in_memory(["me", "me", "a"], ["a", "b", "b"], [1, 2, 3])
    nodes = [store.node("me"), store.node("a")]
    (edge,) = edges_among(store.as_of(), nodes)
    store.arrays.edge_b.flags.writeable = True
    store.arrays.edge_b[edge] = store.node("b")
    with pytest.raises(StoreError, match="is damaged: edge_a and edge_b must be the accounts that have the edge"):
        edges_among(store.as_of(), nodes)


def test_contacts_are_shared_by_two_or_more_and_not_the_account() -> None:
    rows = [
        ("me", "a"),
        ("me", "b"),
        ("me", "c"),
        ("a", "x"),
        ("b", "x"),
        ("c", "x"),
        ("b", "y"),
        ("c", "y"),
        ("a", "z"),
        ("a", "b"),
    ]
    store = store_in_memory([row[0] for row in rows], [row[1] for row in rows], list(range(len(rows))))
    nodes = [store.node(name) for name in "abc"]
    inside = {store.node("me"), *nodes}
    found = shared_contacts(store.as_of(), nodes, inside)
    assert found == [Contact(store.node("x"), (0, 1, 2)), Contact(store.node("y"), (1, 2))]
    assert shared_contacts(store.as_of(), nodes, inside, most=1) == found[:1]
