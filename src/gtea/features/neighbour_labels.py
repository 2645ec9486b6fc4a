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
from gtea.features.neighbour_rows import NeighbourRows
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
        self._graph, self._labels = graph_of(view), labels
        self._node_class = _node_classes(view.store, labels)
        self._class_weights = _class_weights(self._graph, self._node_class, len(labels.classes))
        self._rows = np.zeros((view.store.num_nodes, len(labels.names)), dtype=np.float64)
        self._computed = np.zeros(view.store.num_nodes, dtype=bool)
        self._own_weight: NDArray[np.int64] | None = None

    def rows(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """One row per node; the columns are ``NeighbourLabels.names``."""
        if self._own_weight is not None:
            return _shares_of(self._graph, self._node_class, *self._class_weights, nodes, self._own_weight)
        new = nodes[~self._computed[nodes]]
        if len(new):
            own_weight = np.zeros(len(self._class_weights[-1]), dtype=np.int64)
            self._rows[new] = _shares_of(self._graph, self._node_class, *self._class_weights, new, own_weight)
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

    def renew(self, view: View, changed: NDArray[np.int64]) -> None:
        """Go over to a view with more events. The changed nodes are those that have them, and new ones.

        From then on no rows are cached, and only one thread may ask for them.
        """
        self._graph, num_nodes = graph_of(view), view.store.num_nodes
        row, by_class, total = self._class_weights
        if self._own_weight is None:
            self._num_known, self._num_rows = len(self._node_class), len(total)
        if num_nodes > len(row):
            self._node_class, row = _with_room(self._node_class, num_nodes), _with_room(row, num_nodes)
        if num_nodes > self._num_known:
            new = np.arange(self._num_known, num_nodes)
            self._node_class[new] = _classes_of(keys_of_nodes(view.store, new), self._labels)
            row[new], self._num_known = -1, num_nodes
        missing = np.unique(changed[row[changed] < 0])
        missing = missing[_have_labelled(self._graph, self._node_class, missing)]
        if self._num_rows + len(missing) > len(total):
            by_class, total = (_with_room(each, self._num_rows + len(missing)) for each in (by_class, total))
        row[missing] = np.arange(self._num_rows, self._num_rows + len(missing))
        self._num_rows += len(missing)
        _weigh_classes(self._graph, self._node_class, row, changed, by_class, total)
        self._class_weights = row, by_class, total
        if self._own_weight is None or len(self._own_weight) < len(total):
            self._own_weight = np.zeros(len(total), dtype=np.int64)

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
            own_weight = np.zeros(len(total), dtype=np.int64)
            return _shares_of(accounts.graph, node_class, row, by_class, total, accounts.nodes, own_weight)
        rows, own_weight = [], np.zeros(len(total), dtype=np.int64)
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
            chosen = accounts.nodes[i : i + 1]
            rows.append(_shares_of(accounts.graph, node_class, row, by_class_now, total_now, chosen, own_weight))
        return np.concatenate(rows)


def labelled_nodes(
    store: Store, labels: NeighbourLabels, nodes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Those of some nodes that have a label, and the class of each."""
    classes = _classes_of(keys_of_nodes(store, nodes), labels)
    return nodes[classes >= 0], classes[classes >= 0]


def weights_by_class(
    view: View, neighbours: NeighbourRows, classes: NDArray[np.int64], num_classes: int, nodes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The weight of the neighbours of some nodes by class and, last, of all of them.

    Args:
        classes: The class of each of ``neighbours.nodes``, -1 without a label.
    """
    return _weights_by_class(graph_of(view), neighbours.row, neighbours.first_slot, classes, num_classes, nodes)


def label_shares(
    view: View,
    neighbours: NeighbourRows,
    classes: NDArray[np.int64],
    weights: NDArray[np.int64],
    nodes: NDArray[np.int64],
    own: NDArray[np.int64],
) -> NDArray[np.float64]:
    """``NeighbourLabelShares.rows``, given the classes and the ``weights_by_class`` of the nodes' neighbours.

    Args:
        own: The class of each node, -1 without a label.
    """
    # A neighbour without labelled neighbours adds nothing, with a row of zeros as without a row.
    row = np.where(weights[:, -1] > 0, np.arange(len(weights)), -1)
    by_class, total = np.ascontiguousarray(weights[:, :-1]), np.ascontiguousarray(weights[:, -1])
    place, first = neighbours.row, neighbours.first_slot
    own_weight = np.zeros(len(total), dtype=np.int64)
    return _shares(graph_of(view), place, first, classes, row, by_class, total, nodes, own, own_weight)


def _shares_of(
    graph: Graph,
    node_class: NDArray[np.int64],
    row: NDArray[np.int64],
    by_class: NDArray[np.int64],
    total: NDArray[np.int64],
    nodes: NDArray[np.int64],
    own_weight: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The shares of some nodes, with neighbours named by their numbers."""
    own = node_class[nodes]
    return _shares(graph, graph.slot_neighbour, 0, node_class, row, by_class, total, nodes, own, own_weight)


def _with_room(rows: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """A copy with room for twice that many rows: copying for each new one would take long."""
    larger = np.zeros((2 * length, *rows.shape[1:]), dtype=np.int64)
    larger[: len(rows)] = rows
    return larger


def _node_classes(store: Store, labels: NeighbourLabels) -> NDArray[np.int64]:
    """The class of each node, -1 for nodes without a label."""
    return _classes_of(keys_of_all(store), labels)


def _classes_of(keys: NDArray[np.uint64], labels: NeighbourLabels) -> NDArray[np.int64]:
    labelled, targets = np.array(labels.keys, dtype=np.uint64), np.array(labels.targets, dtype=np.int64)
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
    _weigh_classes(graph, node_class, row, np.arange(len(node_class)), by_class, total)
    return row, by_class, total


@jit
def _have_labelled(graph: Graph, node_class: NDArray[np.int64], nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each node has a labelled neighbour."""
    found = np.zeros(len(nodes), dtype=np.bool_)
    for i in range(len(nodes)):
        start, stop = visible_slots(graph, nodes[i])
        for other in graph.slot_neighbour[start:stop]:
            found[i] = found[i] or (other != nodes[i] and node_class[other] >= 0)
    return found


@jit
def _weigh_classes(
    graph: Graph,
    node_class: NDArray[np.int64],
    row: NDArray[np.int64],
    nodes: NDArray[np.int64],
    by_class: NDArray[np.int64],
    total: NDArray[np.int64],
) -> None:
    """Fill ``by_class`` and ``total`` of the nodes that have a row."""
    for node in nodes:
        if row[node] < 0:
            continue
        by_class[row[node]], total[row[node]] = 0, 0
        start, stop = visible_slots(graph, node)
        for slot in range(start, stop):
            other = graph.slot_neighbour[slot]
            if other != node:
                weight = _weight(graph, slot)
                total[row[node]] += weight
                if node_class[other] >= 0:
                    by_class[row[node], node_class[other]] += weight


@jit
def _weights_by_class(
    graph: Graph,
    place: NDArray[np.int32],
    first_slot: int,
    classes: NDArray[np.int64],
    num_classes: int,
    nodes: NDArray[np.int64],
) -> NDArray[np.int64]:
    weights = np.zeros((len(nodes), num_classes + 1), dtype=np.int64)
    for i in range(len(nodes)):
        start, stop = visible_slots(graph, nodes[i])
        for slot in range(start, stop):
            if graph.slot_neighbour[slot] != nodes[i]:
                weight = _weight(graph, slot)
                weights[i, num_classes] += weight
                known = classes[place[slot - first_slot]]
                if known >= 0:
                    weights[i, known] += weight
    return weights


@jit
def _shares(
    graph: Graph,
    place: NDArray[np.int32],
    first_slot: int,
    class_of: NDArray[np.int64],
    row: NDArray[np.int64],
    by_class: NDArray[np.int64],
    total: NDArray[np.int64],
    nodes: NDArray[np.int64],
    own_class: NDArray[np.int64],
    own_weight: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The ``NeighbourLabels.names`` columns of some nodes.

    Args:
        place: For each slot from ``first_slot`` on the place of its neighbour in ``class_of`` and ``row``.
        class_of: The class of each neighbour, -1 without a label.
        row: The row of each neighbour in ``by_class`` and ``total``, -1 without one.
        own_class: The class of each node.
        own_weight: A buffer of zeros as long as ``total``. It has zeros again in the end.
    """
    num_classes = by_class.shape[1]
    rows = np.zeros((len(nodes), 2 * num_classes))
    for i in range(len(nodes)):
        node = nodes[i]
        start, stop = visible_slots(graph, node)
        total_weight = 0
        for slot in range(start, stop):
            if graph.slot_neighbour[slot] != node:
                weight = _weight(graph, slot)
                total_weight += weight
                other = row[place[slot - first_slot]]
                if other >= 0:
                    own_weight[other] += weight  # a directed store has a slot per direction
        for slot in range(start, stop):
            if graph.slot_neighbour[slot] == node:
                continue
            share = _weight(graph, slot) / total_weight
            known, other = class_of[place[slot - first_slot]], row[place[slot - first_slot]]
            if known >= 0:
                rows[i, known] += share
            if other >= 0:
                for c in range(num_classes):
                    others = by_class[other, c] - (own_weight[other] if c == own_class[i] else 0)
                    rows[i, num_classes + c] += share * others / total[other]
        for slot in range(start, stop):
            other = row[place[slot - first_slot]]
            if other >= 0:
                own_weight[other] = 0
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
