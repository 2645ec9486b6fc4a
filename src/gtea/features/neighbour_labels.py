"""Which classes are known among those an account deals with, and among those whom these deal with.

    near(i, c) = sum over partners j of i, with class c, of w_ij / w_i
    next(i, c) = sum over partners j of i of w_ij / w_i * near(j, c), in which i itself is not counted
    w_ij = log(1 + events between i and j before the cut),  w_i = sum over j of w_ij

Beyond the paper. Money launderers have accomplices and colleagues write to each other: what is already known about
whom an account deals with is the first thing that an investigator looks up. Only labels that a model was trained with
are looked at, and never an account's own: its row is the same whether or not its class is known. Weights are whole
numbers of 1/65536, so that what the account itself adds to its partners' sums is taken away without a trace.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit
from gtea.store.account_keys import keys_of_all, keys_of_nodes
from gtea.store.graph import Graph, graph_of, visible_events, visible_slots
from gtea.store.store import Store
from gtea.store.view import View

_ONE = 65536.0


@dataclass(frozen=True)
class NeighbourLabels:
    """Accounts whose class is known, by their keys: the labels that a model is trained with."""

    classes: tuple[str, ...]
    keys: tuple[int, ...]
    """Ascending; see ``gtea.store.account_keys``."""
    targets: tuple[int, ...]
    """The place of each account's class in ``classes``."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that ``NeighbourLabelShares`` makes."""
        return tuple(f"known_{reach}_{name}" for reach in ("near", "next") for name in self.classes)

    def to_json(self) -> dict[str, Any]:
        """As it stands in a model's file."""
        return asdict(self)

    @staticmethod
    def from_json(content: dict[str, Any]) -> NeighbourLabels:
        """The labels of a model's file."""
        return NeighbourLabels(*(tuple(content[name]) for name in ("classes", "keys", "targets")))


def neighbour_labels_of(
    store: Store, nodes: NDArray[np.int64], targets: NDArray[np.int64], classes: Sequence[str]
) -> NeighbourLabels:
    """The labels of some accounts of a store."""
    keys = keys_of_nodes(store, nodes)
    order = np.argsort(keys)
    return NeighbourLabels(tuple(classes), tuple(keys[order].tolist()), tuple(targets[order].tolist()))


class NeighbourLabelShares:
    """One row of shares for each node of one view. Kept once computed, like ``NodeFeatures``: a hub is read once."""

    def __init__(self, view: View, labels: NeighbourLabels) -> None:
        self._graph = graph_of(view)
        self._own = _classes_of(view.store, labels)
        self._told = _told(self._graph, self._own, len(labels.classes))
        self._rows = np.zeros((view.store.num_nodes, len(labels.names)), dtype=np.float64)
        self._computed = np.zeros(view.store.num_nodes, dtype=bool)

    def rows(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """One row for each node; the columns are ``NeighbourLabels.names``."""
        new = nodes[~self._computed[nodes]]
        if len(new):
            self._rows[new] = _shares(self._graph, self._own, *self._told, new)
            # After the rows: another thread may look at any moment. That it may compute the same row does no harm.
            self._computed[new] = True
        return self._rows[nodes]


def _classes_of(store: Store, labels: NeighbourLabels) -> NDArray[np.int64]:
    """The class of each node, -1 where it is not known."""
    known, targets = np.array(labels.keys, dtype=np.uint64), np.array(labels.targets, dtype=np.int64)
    keys = keys_of_all(store)
    place = np.minimum(np.searchsorted(known, keys), max(len(known) - 1, 0))
    found = known[place] == keys if len(known) else np.zeros(len(keys), dtype=bool)
    classes = np.full(len(keys), -1, dtype=np.int64)
    classes[found] = targets[place[found]]
    return classes


@jit
def _weight(graph: Graph, slot: int) -> int:
    start, stop = visible_events(graph, graph.slot_edge[slot])
    return round(_ONE * math.log1p(stop - start))


@jit
def _told(
    graph: Graph, own: NDArray[np.int64], num_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The place of each node that has known partners, or -1; by place, their weights by class, and all its weights."""
    place = np.full(len(own), -1, dtype=np.int64)
    count = 0
    for node in range(len(own)):
        if own[node] < 0:
            continue
        start, stop = visible_slots(graph, node)
        for slot in range(start, stop):
            other = graph.slot_neighbour[slot]
            if other != node and place[other] < 0:
                place[other] = count
                count += 1
    by_class, whole = np.zeros((count, num_classes), dtype=np.int64), np.zeros(count, dtype=np.int64)
    for node in range(len(own)):
        if place[node] < 0:
            continue
        start, stop = visible_slots(graph, node)
        for slot in range(start, stop):
            other = graph.slot_neighbour[slot]
            if other != node:
                weight = _weight(graph, slot)
                whole[place[node]] += weight
                if own[other] >= 0:
                    by_class[place[node], own[other]] += weight
    return place, by_class, whole


@jit
def _shares(
    graph: Graph,
    own: NDArray[np.int64],
    place: NDArray[np.int64],
    by_class: NDArray[np.int64],
    whole: NDArray[np.int64],
    nodes: NDArray[np.int64],
) -> NDArray[np.float64]:
    num_classes = by_class.shape[1]
    rows = np.zeros((len(nodes), 2 * num_classes))
    mine = np.zeros(len(whole), dtype=np.int64)
    for i in range(len(nodes)):
        node = nodes[i]
        start, stop = visible_slots(graph, node)
        all_mine = 0
        for slot in range(start, stop):
            other = graph.slot_neighbour[slot]
            if other != node:
                weight = _weight(graph, slot)
                all_mine += weight
                if place[other] >= 0:
                    mine[place[other]] += weight  # a directed store has a slot for either direction
        for slot in range(start, stop):
            other = graph.slot_neighbour[slot]
            if other == node:
                continue
            share = _weight(graph, slot) / all_mine
            if own[other] >= 0:
                rows[i, own[other]] += share
            if place[other] >= 0:
                for c in range(num_classes):
                    others = by_class[place[other], c] - (mine[place[other]] if c == own[node] else 0)
                    rows[i, num_classes + c] += share * others / whole[place[other]]
        for slot in range(start, stop):
            if place[graph.slot_neighbour[slot]] >= 0:
                mine[place[graph.slot_neighbour[slot]]] = 0
    return rows
