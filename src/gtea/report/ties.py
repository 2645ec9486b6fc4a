"""How the counterparties of an account are connected: who deals with whom, and whom several of them know."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gtea.store.graph import Graph, edge_between, graph_of
from gtea.store.integrity import damaged
from gtea.store.view import View

_MANY = 2_000
"""The counterparties of an account with more of them are not searched: a hub knows everybody, which says nothing."""
_CONTACTS = 3
_HUB = 50
"""A node with so many times as many neighbours as there are nodes is asked about pair by pair."""


@dataclass(frozen=True)
class Contact:
    """An account outside that several counterparties deal with."""

    node: int
    places: tuple[int, ...]
    """The counterparties that deal with it, as places in the list that was given."""


def edges_among(view: View, nodes: Sequence[int]) -> list[int]:
    """The edges with an event before the cut both of whose ends are among the nodes, ascending."""
    graph, wanted = graph_of(view), np.unique(np.asarray(nodes, dtype=np.int64))
    found: set[int] = set()
    for node in wanted.tolist():
        # A hub has more neighbours than can be read for a picture; asking for each pair is cheaper then.
        if view.degree(node) > _HUB * len(wanted):
            found.update(edge for other in wanted.tolist() for edge in _edges_between(graph, view, node, other))
        else:
            neighbours = view.neighbours(node)
            found.update(neighbours.edges[np.isin(neighbours.nodes, wanted)].tolist())
    edges = sorted(found)
    if not all(np.isin(ends[edges], wanted).all() for ends in (view.arrays.edge_a, view.arrays.edge_b)):
        raise damaged(view.store.path, "edge_a and edge_b must be the accounts that have the edge")
    return edges


def _edges_between(graph: Graph, view: View, a: int, b: int) -> list[int]:
    ends = [(a, b), (b, a)] if view.store.directed else [(min(a, b), max(a, b))]
    edges = [edge_between(graph, *pair) for pair in ends]
    return [edge for edge in edges if edge >= 0 and graph.edge_first_time[edge] < view.cut]


def ties_between(view: View, nodes: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs of nodes that dealt with each other before the cut, as places in the list; none with itself."""
    place = {node: number for number, node in enumerate(nodes)}
    arrays, edges = view.arrays, edges_among(view, nodes)
    ends = [(place[int(arrays.edge_a[edge])], place[int(arrays.edge_b[edge])]) for edge in edges]
    return sorted({(min(pair), max(pair)) for pair in ends if pair[0] != pair[1]})


def shared_contacts(view: View, nodes: Sequence[int], inside: set[int], most: int = _CONTACTS) -> list[Contact]:
    """The accounts outside that two or more of the nodes deal with, those of most of them first.

    Args:
        inside: The accounts that are no contacts: the one that the case is about and its counterparties.
    """
    known: defaultdict[int, set[int]] = defaultdict(set)
    for place, each in enumerate(nodes):
        if view.degree(each) <= _MANY:
            for other in view.neighbours(each).nodes.tolist():
                known[other].add(place)
    shared = Counter({other: len(places) for other, places in known.items() if len(places) > 1 and other not in inside})
    best = sorted(shared, key=lambda other: (-shared[other], other))[:most]
    return [Contact(other, tuple(sorted(known[other]))) for other in best]
