"""How the counterparties of an account are connected: who deals with whom, and whom several of them know."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from gtea.store.graph import edge_between, graph_of, visible_events
from gtea.store.view import View

_MANY = 2_000
"""The counterparties of an account with more of them are not searched: a hub knows everybody, which says nothing."""
_CONTACTS = 3


@dataclass(frozen=True)
class Contact:
    """An account outside that several counterparties deal with."""

    node: int
    places: tuple[int, ...]
    """The counterparties that deal with it, as places in the list that was given."""


def ties_between(view: View, nodes: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs of nodes that dealt with each other before the cut, as places in the list."""
    graph = graph_of(view)

    def dealt(a: int, b: int) -> bool:
        edge = edge_between(graph, a, b)
        if edge < 0:
            return False
        start, stop = visible_events(graph, edge)
        return bool(stop > start)

    places = range(len(nodes))
    return [(i, j) for i in places for j in places[i + 1 :] if dealt(*_ends(view, nodes[i], nodes[j]))
            or (view.store.directed and dealt(nodes[j], nodes[i]))]


def _ends(view: View, a: int, b: int) -> tuple[int, int]:
    return (a, b) if view.store.directed else (min(a, b), max(a, b))


def shared_contacts(view: View, node: int, nodes: Sequence[int], most: int = _CONTACTS) -> list[Contact]:
    """The accounts that two or more of the nodes deal with, those of most of them first; not the node itself."""
    known = defaultdict(set)
    for place, each in enumerate(nodes):
        if view.degree(each) <= _MANY:
            for other in view.neighbours(each).nodes.tolist():
                known[other].add(place)
    inside = {node, *nodes}
    shared = Counter({other: len(places) for other, places in known.items() if len(places) > 1 and other not in inside})
    best = sorted(shared, key=lambda other: (-shared[other], other))[:most]
    return [Contact(other, tuple(sorted(known[other]))) for other in best]
