"""Statistics of an account's partners as of a cut: how large they are, how much each one matters, who pays back.

For the partners that an account sends to (out), receives from (in), and both together:

- ``degree_mean``, ``degree_max``: how many partners its partners have; the mean is one of log(1 + n), so that a single
  exchange among ten people does not hide the people.
- ``events_mean``: the mean of log(1 + n) over its partners' numbers of events.
- ``sent_mean``: the mean share of its partners' events that they sent.
- ``top_share``, ``concentration``: the share of its events that its largest partner has, and the sum of squared shares.
- for each feature, ``mean`` of its partners' mean values, and ``top_share``: its largest partner's share of the total,
  of absolute values.

And for all partners: ``reciprocity``, the share of partners with events in both directions, and the mean number of
events per partner.

An account is not its own partner: events from an account to itself are left out. A partner with events in both
directions is one partner, also in a directed store. All events before the cut are counted, exactly. An account without
partners has zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.features.alternatives import Alternatives
from gtea.features.neighbour_rows import NeighbourRows
from gtea.features.node_blocks import fill_rows, node_threads
from gtea.features.short_sorts import distinct, sort_both
from gtea.runtime.jit import jit
from gtea.store.graph import Graph, graph_of, visible_events, visible_slots
from gtea.store.store import Store
from gtea.store.view import View

_SIDES = ("out", "in", "both")
_OUT, _IN, _BOTH = range(3)
_SIDE_COLUMNS = ("degree_mean", "degree_max", "events_mean", "sent_mean", "top_share", "concentration")
_DEGREE_MEAN, _DEGREE_MAX, _EVENTS_MEAN, _SENT_MEAN, _TOP_SHARE, _CONCENTRATION = range(6)
_FEATURE_COLUMNS = ("mean", "top_share")
_SUMMARY = ("reciprocity", "events_per_partner")
_DEGREE, _LOG_DEGREE, _LOG_EVENTS, _SENT_SHARE, _MEANS = range(5)
"""What is cached of a partner: its partners, log(1 + n) of them and of its events, the share of events that it sent,
and from there the mean of each feature."""


def partner_statistic_names(features: Sequence[str]) -> tuple[str, ...]:
    """Column names: for each side the statistics of partners, then those of each feature; the summary comes last."""
    per_feature = [f"{feature}_{name}" for feature in features for name in _FEATURE_COLUMNS]
    sides = [f"partners_{side}_{name}" for side in _SIDES for name in (*_SIDE_COLUMNS, *per_feature)]
    return (*sides, *(f"partners_{name}" for name in _SUMMARY))


class PartnerFlows(NamedTuple):
    """The partners of an account, in the order in which they are added up."""

    partner: NDArray[np.int64]
    flows: NDArray[np.float64]
    """Events out, in and both, and the sizes of each feature, [num_partners, 3, 1 + num_features]."""
    profiles: NDArray[np.float64]
    """What is cached of each."""


class PartnerStatistics:
    """Computes the partner statistics of one view. What is needed of a partner is cached: hubs are read once."""

    def __init__(self, view: View) -> None:
        self._graph = graph_of(view)
        self._directed = view.store.directed
        self.width = len(partner_statistic_names(view.store.features))
        num_nodes = view.store.num_nodes
        # Zeroed memory takes no space before it is written.
        self._profiles = np.zeros((num_nodes, _profile_width(view.store)))
        self._computed = np.zeros(num_nodes, dtype=np.bool_)

    def renew(self, view: View, changed: NDArray[np.int64]) -> None:
        """Go over to a view with more events: what is cached of the changed nodes is forgotten."""
        self._graph = graph_of(view)
        if view.store.num_nodes > len(self._computed):
            # With room for as many again: a copy for each new account would take long.
            self._profiles, self._computed = (
                np.concatenate(
                    [known, np.zeros((2 * view.store.num_nodes - len(known), *known.shape[1:]), known.dtype)]
                )
                for known in (self._profiles, self._computed)
            )
        self._profiles[changed], self._computed[changed] = 0, False

    def rows(self, nodes: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """One row per node; the columns are ``partner_statistic_names(view.store.features)``."""
        threads = node_threads(len(nodes))
        self._describe_partners(np.ascontiguousarray(nodes, dtype=np.int64), threads)
        fill = partial(_fill, self._graph, self._directed, self._graph.slot_neighbour, 0, self._profiles)
        return fill_rows(fill, nodes, self.width, threads)

    def flows_of(self, node: int) -> PartnerFlows:
        """What the rows of one node are made of."""
        self._describe_partners(np.array([node]), 1)
        partner, flows = _flows_of(self._graph, node, self._directed)
        return PartnerFlows(partner, flows, self._profiles[partner])

    def rows_in(self, accounts: Alternatives, partner: Alternatives | None = None) -> NDArray[np.float64]:
        """The rows of alternatives to accounts. Their partners are as in the view, but for one.

        Args:
            partner: Alternatives to one partner, as many: the partner of each alternative to the account.
        """
        self._describe_partners(np.unique(accounts.original), 1)
        if partner is None:
            fill = partial(_fill, accounts.graph, self._directed, accounts.graph.slot_neighbour, 0, self._profiles)
            return fill_rows(fill, accounts.nodes, self.width, node_threads(len(accounts.nodes)))
        profiles, rows = self._profiles.copy(), np.zeros((len(accounts.nodes), self.width))
        other = np.zeros((len(rows), profiles.shape[1]))
        _fill_profiles(partner.graph, self._directed, partner.nodes, other)
        for i in range(len(rows)):
            profiles[partner.original[i]] = other[i]
            some, row = accounts.nodes[i : i + 1], rows[i : i + 1]
            _fill(accounts.graph, self._directed, accounts.graph.slot_neighbour, 0, profiles, some, row)
        return rows

    def _describe_partners(self, nodes: NDArray[np.int64], threads: int) -> None:
        found = np.zeros(len(self._computed), dtype=np.bool_)
        # In the order of the store, whose arrays are then read from front to back.
        new = np.sort(_new_partners(self._graph, nodes, self._computed, found))
        if len(new):
            fill = partial(_fill_profiles, self._graph, self._directed)
            self._profiles[new] = fill_rows(fill, new, self._profiles.shape[1], threads)
            # Set after the profiles, because other threads read both. If two compute the same one, no harm is done.
            self._computed[new] = True


def partner_profiles(view: View, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
    """What the partner statistics of others read of some nodes, one row each."""
    fill = partial(_fill_profiles, graph_of(view), view.store.directed)
    return fill_rows(fill, nodes, _profile_width(view.store), node_threads(len(nodes)))


def partner_rows(
    view: View, neighbours: NeighbourRows, profiles: NDArray[np.float64], nodes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """``PartnerStatistics.rows``, given the profiles of the nodes' neighbours."""
    fill = partial(_fill, graph_of(view), view.store.directed, neighbours.row, neighbours.first_slot, profiles)
    width = len(partner_statistic_names(view.store.features))
    return fill_rows(fill, nodes, width, node_threads(len(nodes)))


def _profile_width(store: Store) -> int:
    return _MEANS + len(store.features)


@jit
def _new_partners(
    graph: Graph, nodes: NDArray[np.int64], computed: NDArray[np.bool_], found: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """The neighbours of the nodes that are not computed yet, each once. They are marked in ``found``."""
    capacity = 0
    for node in nodes:
        start, stop = visible_slots(graph, node)
        capacity += stop - start
    new, count = np.empty(min(capacity, len(found)), dtype=np.int64), 0
    for node in nodes:
        start, stop = visible_slots(graph, node)
        for other in graph.slot_neighbour[start:stop]:
            if not computed[other] and not found[other]:
                found[other] = True
                new[count] = other
                count += 1
    return new[:count]


@jit
def _fill_profiles(graph: Graph, directed: bool, nodes: NDArray[np.int64], rows: NDArray[np.float64]) -> None:
    """Fill what is needed of partners: totals over all their events, except those with themselves."""
    for i in range(len(nodes)):
        row, node = rows[i], nodes[i]
        events, sent = 0, 0
        start, stop = visible_slots(graph, node)
        for slot in range(start, stop):
            if graph.slot_neighbour[slot] == node:
                continue
            edge = graph.slot_edge[slot]
            first, end = visible_events(graph, edge)
            sent_when = 0 if graph.edge_a[edge] == node else 1
            row[_DEGREE] += 1
            events += end - first
            for event in range(first, end):
                sent += graph.event_reverse[event] == sent_when
                for k in range(graph.event_features.shape[1]):
                    row[_MEANS + k] += graph.event_features[event, k]
        if events == 0:
            continue
        if directed:
            # A partner may have a slot per direction, and the node itself may be among the neighbours.
            others = graph.slot_neighbour[start:stop]
            row[_DEGREE] = distinct(others) - (node in others)
        row[_LOG_DEGREE], row[_LOG_EVENTS] = np.log1p(row[_DEGREE]), np.log1p(np.float64(events))
        row[_SENT_SHARE] = sent / events
        for k in range(graph.event_features.shape[1]):
            row[_MEANS + k] /= events


@jit
def _fill(
    graph: Graph,
    directed: bool,
    row_of_slot: NDArray[np.int32],
    first_slot: int,
    profiles: NDArray[np.float64],
    nodes: NDArray[np.int64],
    rows: NDArray[np.float64],
) -> None:
    num_features = graph.event_features.shape[1]
    width = len(_SIDE_COLUMNS) + len(_FEATURE_COLUMNS) * num_features
    capacity = 0
    for i in range(len(nodes)):
        start, stop = visible_slots(graph, nodes[i])
        capacity = max(capacity, stop - start)
    # One buffer for all nodes, because allocations cost more than reading the few events of most nodes. Per partner:
    # its number, events out, in and both, and the sizes of each feature out, in and both.
    partner, slots = np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64)
    flows = np.empty((capacity, 3, 1 + num_features))
    sums, largest, left = np.empty((3, 1 + num_features)), np.empty((3, 1 + num_features)), np.ones(capacity, np.bool_)
    for i in range(len(nodes)):
        count = _read(graph, nodes[i], directed, partner, slots, flows)
        if count > 0:
            by_side = rows[i, : 3 * width].reshape(3, width)
            for k in range(count):
                partner[k] = row_of_slot[slots[k] - first_slot]
            _fill_sides(partner[:count], flows, profiles, by_side, sums, largest)
            fill_summary(flows[:count], left, rows[i, 3 * width :])


@jit
def _flows_of(graph: Graph, node: int, directed: bool) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The partners of a node, and what flows to and from each; see ``_read``."""
    start, stop = visible_slots(graph, node)
    partner, slots = np.empty(stop - start, dtype=np.int64), np.empty(stop - start, dtype=np.int64)
    flows = np.empty((stop - start, 3, 1 + graph.event_features.shape[1]))
    count = _read(graph, node, directed, partner, slots, flows)
    return partner[:count], flows[:count]


@jit
def _read(
    graph: Graph,
    node: int,
    directed: bool,
    partner: NDArray[np.int64],
    slots: NDArray[np.int64],
    flows: NDArray[np.float64],
) -> int:
    """Fill the partners of a node, a slot of each, and what flows to and from each. Returns the number of partners."""
    start, stop = visible_slots(graph, node)
    length = stop - start
    for i in range(length):
        partner[i], slots[i] = graph.slot_neighbour[start + i], start + i
    if directed:
        # A partner may have a slot per direction: sorting puts them side by side.
        sort_both(partner[:length], slots[:length])
    count = 0
    for i in range(length):
        other = partner[i]
        if other == node:
            continue
        slot = slots[i]
        if count == 0 or partner[count - 1] != other:
            partner[count], slots[count] = other, slot
            flows[count] = 0
            count += 1
        edge = graph.slot_edge[slot]
        first, end = visible_events(graph, edge)
        sent_when = 0 if graph.edge_a[edge] == node else 1
        for event in range(first, end):
            side = _OUT if graph.event_reverse[event] == sent_when else _IN
            flows[count - 1, side, 0] += 1
            for k in range(graph.event_features.shape[1]):
                flows[count - 1, side, 1 + k] += abs(np.float64(graph.event_features[event, k]))
    for i in range(count):
        for k in range(flows.shape[2]):
            flows[i, _BOTH, k] = flows[i, _OUT, k] + flows[i, _IN, k]
    return count


@jit
def _fill_sides(
    partner: NDArray[np.int64],
    flows: NDArray[np.float64],
    profiles: NDArray[np.float64],
    rows: NDArray[np.float64],
    sums: NDArray[np.float64],
    largest: NDArray[np.float64],
) -> None:
    """Fill the columns of the three sides. ``sums`` and ``largest`` are buffers."""
    sums[:], largest[:] = 0, 0
    for side in range(3):
        count, squares = 0, 0.0
        for i in range(len(partner)):
            if flows[i, side, 0] > 0:
                count += 1
                squares += flows[i, side, 0] * flows[i, side, 0]
                add_partner(flows, i, side, profiles, partner[i], rows, sums, largest)
        if count > 0:
            finish_side(rows[side], count, squares, sums[side], largest[side])


@jit
def add_partner(
    flows: NDArray[np.float64],
    i: int,
    side: int,
    profiles: NDArray[np.float64],
    partner: int,
    rows: NDArray[np.float64],
    sums: NDArray[np.float64],
    largest: NDArray[np.float64],
) -> None:
    """Add one partner to a side. Arrays are indexed here: a slice of each would cost more than the sums."""
    rows[side, _DEGREE_MEAN] += profiles[partner, _LOG_DEGREE]
    rows[side, _DEGREE_MAX] = max(rows[side, _DEGREE_MAX], profiles[partner, _DEGREE])
    rows[side, _EVENTS_MEAN] += profiles[partner, _LOG_EVENTS]
    rows[side, _SENT_MEAN] += profiles[partner, _SENT_SHARE]
    for k in range(flows.shape[2]):
        sums[side, k] += flows[i, side, k]
        largest[side, k] = max(largest[side, k], flows[i, side, k])
    for k in range(flows.shape[2] - 1):
        rows[side, len(_SIDE_COLUMNS) + len(_FEATURE_COLUMNS) * k] += profiles[partner, _MEANS + k]


@jit
def finish_side(
    row: NDArray[np.float64], count: int, squares: float, sums: NDArray[np.float64], largest: NDArray[np.float64]
) -> None:
    """Turn the sums of one side into means and shares."""
    for column in (_DEGREE_MEAN, _EVENTS_MEAN, _SENT_MEAN):
        row[column] /= count
    row[_TOP_SHARE] = largest[0] / sums[0]
    row[_CONCENTRATION] = squares / (sums[0] * sums[0])
    for k in range(len(sums) - 1):
        at = len(_SIDE_COLUMNS) + len(_FEATURE_COLUMNS) * k
        row[at] /= count
        if sums[1 + k] > 0:
            row[at + 1] = largest[1 + k] / sums[1 + k]


@jit
def fill_summary(flows: NDArray[np.float64], left: NDArray[np.bool_], row: NDArray[np.float64]) -> None:
    """Fill the columns about all partners that are left."""
    count, mutual, events = 0, 0, 0.0
    for i in range(len(flows)):
        if left[i]:
            count += 1
            mutual += flows[i, _OUT, 0] > 0 and flows[i, _IN, 0] > 0
            events += flows[i, _BOTH, 0]
    row[0], row[1] = mutual / count, events / count
