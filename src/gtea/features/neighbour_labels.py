"""Neighbour labels: the share of each class among an account's labelled neighbours, one and two hops away.

    near(i, c) = sum over neighbours j of i with class c of w_ij / w_i
    next(i, c) = sum over neighbours j of i of w_ij / w_i * near(j, c), without the contribution of i itself
    w_ij = log(1 + number of events between i and j before the cut),  w_i = sum over j of w_ij

Beyond the paper. Money launderers have accomplices, and the labels of an account's neighbours are the first thing that
an investigator looks up. Only training labels are read, and never an account's own: its row is the same whether or not
the account is labelled. Weights are integer multiples of 1/65536, so that the account's own contribution to its
neighbours' sums is subtracted exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.features.alternatives import Alternatives
from gtea.features.removals import Removals
from gtea.runtime.jit import jit
from gtea.store.account_keys import keys_of_all, keys_of_nodes
from gtea.store.graph import Graph, graph_of, visible_events, visible_slots
from gtea.store.store import Store
from gtea.store.view import View

_WEIGHT_SCALE = 65536.0


@dataclass(frozen=True)
class NeighbourLabels:
    """The training labels, by account key."""

    classes: tuple[str, ...]
    keys: tuple[int, ...]
    """Ascending; see ``gtea.store.account_keys``."""
    targets: tuple[int, ...]
    """Each account's class as an index into ``classes``."""

    @property
    def names(self) -> tuple[str, ...]:
        """The column names of ``NeighbourLabelShares``."""
        return tuple(f"known_{hop}_{name}" for hop in ("near", "next") for name in self.classes)

    def to_json(self) -> dict[str, Any]:
        """For the model's preprocessing.json."""
        return asdict(self)

    @staticmethod
    def from_json(content: dict[str, Any]) -> NeighbourLabels:
        """From a model's preprocessing.json."""
        return NeighbourLabels(*(tuple(content[name]) for name in ("classes", "keys", "targets")))


def neighbour_labels_of(
    store: Store, nodes: NDArray[np.int64], targets: NDArray[np.int64], classes: Sequence[str]
) -> NeighbourLabels:
    """Labels of the given nodes of a store."""
    keys = keys_of_nodes(store, nodes)
    order = np.argsort(keys)
    return NeighbourLabels(tuple(classes), tuple(keys[order].tolist()), tuple(targets[order].tolist()))


class NeighbourLabelShares:
    """Computes the class shares of the nodes of one view. Rows are cached, as in ``NodeFeatures``."""

    def __init__(self, view: View, labels: NeighbourLabels) -> None:
        self._graph = graph_of(view)
        self._node_class = _node_classes(view.store, labels)
        self._class_weights = _class_weights(self._graph, self._node_class, len(labels.classes))
        self._rows = np.zeros((view.store.num_nodes, len(labels.names)), dtype=np.float64)
        self._computed = np.zeros(view.store.num_nodes, dtype=bool)

    def rows(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """One row per node; the columns are ``NeighbourLabels.names``."""
        new = nodes[~self._computed[nodes]]
        if len(new):
            self._rows[new] = _shares(self._graph, self._node_class, *self._class_weights, new)
            # Set after the rows, because other threads read both. If two threads compute the same row, no harm is done.
            self._computed[new] = True
        return self._rows[nodes]

    def rows_without(self, accounts: Removals) -> NDArray[np.float64]:
        """The rows of an account without some of its neighbours."""
        account = accounts.account
        return _shares_left(
            self._graph,
            self._node_class,
            *self._class_weights,
            account.node,
            account.events.slot_partner,
            accounts.lost,
        )

    def rows_in(self, accounts: Alternatives, partner: Alternatives | None = None) -> NDArray[np.float64]:
        """The rows of alternatives to accounts. Their neighbours are as in the view, but for one.

        Args:
            partner: Alternatives to one neighbour, as many: the neighbour of each alternative to the account.
        """
        row, by_class, total = self._class_weights
        # Alternatives are numbered after all nodes.
        node_class = np.append(self._node_class, self._node_class[accounts.original])
        row = np.append(row, np.full(len(accounts.original), -1))
        if partner is None:
            return _shares(accounts.graph, node_class, row, by_class, total, accounts.nodes)
        rows = []
        for i, node in enumerate(accounts.nodes):
            account, other = accounts.original[i], partner.original[i]
            by_class_now, total_now = by_class, total
            if row[other] >= 0:
                # What the account contributes to its neighbour is less than in the view.
                less = _weight_between(self._graph, account, other) - _weight_between(accounts.graph, node, other)
                by_class_now, total_now = by_class.copy(), total.copy()
                total_now[row[other]] -= less
                if node_class[account] >= 0:
                    by_class_now[row[other], node_class[account]] -= less
            rows.append(_shares(accounts.graph, node_class, row, by_class_now, total_now, accounts.nodes[i : i + 1]))
        return np.concatenate(rows)


def _node_classes(store: Store, labels: NeighbourLabels) -> NDArray[np.int64]:
    """The class of each node, -1 for nodes without a label."""
    labelled, targets = np.array(labels.keys, dtype=np.uint64), np.array(labels.targets, dtype=np.int64)
    keys = keys_of_all(store)
    index = np.minimum(np.searchsorted(labelled, keys), max(len(labelled) - 1, 0))
    found = labelled[index] == keys if len(labelled) else np.zeros(len(keys), dtype=bool)
    classes = np.full(len(keys), -1, dtype=np.int64)
    classes[found] = targets[index[found]]
    return classes


@jit
def _weight(graph: Graph, slot: int) -> int:
    start, stop = visible_events(graph, graph.slot_edge[slot])
    return round(_WEIGHT_SCALE * math.log1p(stop - start))


@jit
def _weight_between(graph: Graph, node: int, other: int) -> int:
    total = 0
    start, stop = visible_slots(graph, node)
    for slot in range(start, stop):
        if graph.slot_neighbour[slot] == other:
            total += _weight(graph, slot)
    return total


@jit
def _class_weights(
    graph: Graph, node_class: NDArray[np.int64], num_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Weights of labelled neighbours, for the nodes that have any.

    Returns:
        The row of each node in the next two arrays, or -1 if it has no labelled neighbour; the weight of each row's
        neighbours by class; and the total weight of all its neighbours.
    """
    row = np.full(len(node_class), -1, dtype=np.int64)
    count = 0
    for node in range(len(node_class)):
        if node_class[node] < 0:
            continue
        start, stop = visible_slots(graph, node)
        for slot in range(start, stop):
            other = graph.slot_neighbour[slot]
            if other != node and row[other] < 0:
                row[other] = count
                count += 1
    by_class, total = np.zeros((count, num_classes), dtype=np.int64), np.zeros(count, dtype=np.int64)
    for node in range(len(node_class)):
        if row[node] < 0:
            continue
        start, stop = visible_slots(graph, node)
        for slot in range(start, stop):
            other = graph.slot_neighbour[slot]
            if other != node:
                weight = _weight(graph, slot)
                total[row[node]] += weight
                if node_class[other] >= 0:
                    by_class[row[node], node_class[other]] += weight
    return row, by_class, total


@jit
def _shares(
    graph: Graph,
    node_class: NDArray[np.int64],
    row: NDArray[np.int64],
    by_class: NDArray[np.int64],
    total: NDArray[np.int64],
    nodes: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The ``NeighbourLabels.names`` columns of some nodes."""
    num_classes = by_class.shape[1]
    rows = np.zeros((len(nodes), 2 * num_classes))
    own_weight = np.zeros(len(total), dtype=np.int64)
    for i in range(len(nodes)):
        node = nodes[i]
        start, stop = visible_slots(graph, node)
        total_weight = 0
        for slot in range(start, stop):
            other = graph.slot_neighbour[slot]
            if other != node:
                weight = _weight(graph, slot)
                total_weight += weight
                if row[other] >= 0:
                    own_weight[row[other]] += weight  # a directed store has a slot per direction
        for slot in range(start, stop):
            other = graph.slot_neighbour[slot]
            if other == node:
                continue
            share = _weight(graph, slot) / total_weight
            if node_class[other] >= 0:
                rows[i, node_class[other]] += share
            if row[other] >= 0:
                for c in range(num_classes):
                    others = by_class[row[other], c] - (own_weight[row[other]] if c == node_class[node] else 0)
                    rows[i, num_classes + c] += share * others / total[row[other]]
        for slot in range(start, stop):
            if row[graph.slot_neighbour[slot]] >= 0:
                own_weight[row[graph.slot_neighbour[slot]]] = 0
    return rows


@jit
def _shares_left(
    graph: Graph,
    node_class: NDArray[np.int64],
    row: NDArray[np.int64],
    by_class: NDArray[np.int64],
    total: NDArray[np.int64],
    node: int,
    slot_partner: NDArray[np.int64],
    lost: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """The ``NeighbourLabels.names`` columns of one node, each row without all slots to some of its partners."""
    num_classes = by_class.shape[1]
    rows = np.zeros((len(lost), 2 * num_classes))
    start, stop = visible_slots(graph, node)
    weights, own_weight = np.zeros(stop - start, dtype=np.int64), np.zeros(lost.shape[1], dtype=np.int64)
    others = np.zeros((stop - start, num_classes), dtype=np.int64)
    for slot in range(start, stop):
        if graph.slot_neighbour[slot] != node:
            weights[slot - start] = _weight(graph, slot)
            own_weight[slot_partner[slot - start]] += weights[slot - start]  # a directed store has a slot per direction
    for i in range(stop - start):
        at = row[graph.slot_neighbour[start + i]]
        for c in range(num_classes):
            others[i, c] = (
                by_class[at, c] - (own_weight[slot_partner[i]] if c == node_class[node] else 0) if at >= 0 else 0
            )
    for k in range(len(lost)):
        total_weight = 0
        for i in range(stop - start):
            if not lost[k, slot_partner[i]]:
                total_weight += weights[i]
        for i in range(stop - start):
            other = graph.slot_neighbour[start + i]
            if lost[k, slot_partner[i]] or other == node:
                continue
            share = weights[i] / total_weight
            if node_class[other] >= 0:
                rows[k, node_class[other]] += share
            if row[other] >= 0:
                for c in range(num_classes):
                    rows[k, num_classes + c] += share * others[i, c] / total[row[other]]
    return rows
