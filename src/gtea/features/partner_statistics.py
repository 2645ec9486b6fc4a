"""Statistics of an account's partners as of a cut: how large they are, how much each one matters, who pays back.

For the partners that an account sends to (out), receives from (in), and both together:

- ``degree_mean``, ``degree_max``: how many partners its partners have; the mean is one of log(1 + n), so that a single
  exchange among ten people does not hide the people.
- ``events_mean``: the mean of log(1 + n) over its partners' numbers of events.
- ``sent_mean``: the mean share of its partners' events that they sent.
- ``top_share``, ``concentration``: the share of its events that its largest partner has, and the sum of squared shares.
- for each feature, ``mean`` of its partners' mean values, and ``top_share``: its largest partner's share of the total.

And for all partners: ``reciprocity``, the share of partners with events in both directions, and the mean number of
events per partner.

An account is not its own partner: events from an account to itself are left out. A partner with events in both
directions is one partner, also in a directed store. All events before the cut are counted, exactly. An account without
partners has zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit
from gtea.store.graph import Graph, graph_of, visible_events, visible_slots
from gtea.store.view import View

_SIDES = ("out", "in", "both")
_SIDE_COLUMNS = ("degree_mean", "degree_max", "events_mean", "sent_mean", "top_share", "concentration")
_DEGREE_MEAN, _DEGREE_MAX, _EVENTS_MEAN, _SENT_MEAN, _TOP_SHARE, _CONCENTRATION = range(6)
_FEATURE_COLUMNS = ("mean", "top_share")
_SUMMARY = ("reciprocity", "events_per_partner")
_DEGREE, _EVENTS, _SENT, _SUMS = range(4)
"""Columns of a partner's totals: partners, events, events sent, and from there the sum of each feature."""


def partner_statistic_names(features: Sequence[str]) -> tuple[str, ...]:
    """Column names: for each side the statistics of partners, then those of each feature; the summary comes last."""
    per_feature = [f"{feature}_{name}" for feature in features for name in _FEATURE_COLUMNS]
    sides = [f"partners_{side}_{name}" for side in _SIDES for name in (*_SIDE_COLUMNS, *per_feature)]
    return (*sides, *(f"partners_{name}" for name in _SUMMARY))


class PartnerStatistics:
    """Computes the partner statistics of one view. The totals of partners are cached: hubs are read once."""

    def __init__(self, view: View) -> None:
        self._graph = graph_of(view)
        self._directed = view.store.directed
        num_nodes, num_features = view.store.num_nodes, len(view.store.features)
        # Zeroed memory takes no space before it is written.
        self._totals = np.zeros((num_nodes, _SUMS + num_features))
        self._computed = np.zeros(num_nodes, dtype=np.bool_)

    def rows(self, nodes: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """One row per node; the columns are ``partner_statistic_names(view.store.features)``."""
        return _rows(self._graph, np.asarray(nodes, dtype=np.int64), self._totals, self._computed, self._directed)


@jit
def _rows(
    graph: Graph,
    nodes: NDArray[np.int64],
    totals: NDArray[np.float64],
    computed: NDArray[np.bool_],
    directed: bool,
) -> NDArray[np.float64]:
    num_features = graph.event_features.shape[1]
    width = len(_SIDE_COLUMNS) + len(_FEATURE_COLUMNS) * num_features
    rows = np.zeros((len(nodes), 3 * width + len(_SUMMARY)))
    capacity = 0
    for i in range(len(nodes)):
        start, stop = visible_slots(graph, nodes[i])
        capacity = max(capacity, stop - start)
    # Per partner: its number, events out and in, and the sizes of each feature out and in.
    partner = np.empty(capacity, dtype=np.int64)
    flows = np.empty((capacity, 2, 1 + num_features))
    for i in range(len(nodes)):
        count = _read(graph, nodes[i], directed, partner, flows)
        if count == 0:
            continue
        for k in range(count):
            if not computed[partner[k]]:
                # Threads share the cache: a row is written when it is complete, and marked after it is written.
                totals[partner[k]] = _totals(graph, partner[k], directed)
                computed[partner[k]] = True
        for side in range(3):
            _fill_side(partner[:count], flows[:count], totals, side, rows[i, side * width : (side + 1) * width])
        _fill_summary(flows[:count], rows[i, 3 * width :])
    return rows


@jit
def _read(graph: Graph, node: int, directed: bool, partner: NDArray[np.int64], flows: NDArray[np.float64]) -> int:
    """Fill the partners of a node and what flows to and from each. Returns the number of partners."""
    start, stop = visible_slots(graph, node)
    order = np.arange(start, stop)
    if directed and stop - start > 1:
        # A partner may have a slot per direction: sorting puts them side by side.
        order = start + np.argsort(graph.slot_neighbour[start:stop], kind="mergesort")
    count = 0
    for slot in order:
        other = graph.slot_neighbour[slot]
        if other == node:
            continue
        if count == 0 or not directed or partner[count - 1] != other:
            partner[count] = other
            flows[count] = 0
            count += 1
        _add_flows(graph, graph.slot_edge[slot], node, flows[count - 1])
    return count


@jit
def _add_flows(graph: Graph, edge: int, node: int, flows: NDArray[np.float64]) -> None:
    """Add the events of an edge to [out, in], seen from a node: their number, and the size of each feature."""
    first, end = visible_events(graph, edge)
    sent_when = 0 if graph.edge_a[edge] == node else 1
    for event in range(first, end):
        side = flows[0] if graph.event_reverse[event] == sent_when else flows[1]
        side[0] += 1
        for k in range(graph.event_features.shape[1]):
            side[1 + k] += abs(np.float64(graph.event_features[event, k]))


@jit
def _totals(graph: Graph, node: int, directed: bool) -> NDArray[np.float64]:
    """A node's own totals over all its events, except those with itself."""
    row = np.zeros(_SUMS + graph.event_features.shape[1])
    start, stop = visible_slots(graph, node)
    others = graph.slot_neighbour[start:stop]
    for slot in range(start, stop):
        if graph.slot_neighbour[slot] == node:
            continue
        edge = graph.slot_edge[slot]
        first, end = visible_events(graph, edge)
        sent_when = 0 if graph.edge_a[edge] == node else 1
        row[_EVENTS] += end - first
        for event in range(first, end):
            row[_SENT] += graph.event_reverse[event] == sent_when
            for k in range(graph.event_features.shape[1]):
                row[_SUMS + k] += graph.event_features[event, k]
    if directed:
        others = np.unique(others)
    for other in others:
        row[_DEGREE] += other != node
    return row


@jit
def _fill_side(
    partner: NDArray[np.int64],
    flows: NDArray[np.float64],
    totals: NDArray[np.float64],
    side: int,
    row: NDArray[np.float64],
) -> None:
    """Fill the columns of one side: 0 is out, 1 is in, 2 is both."""
    num_features = flows.shape[2] - 1
    count, sums, largest, squares = 0, np.zeros(1 + num_features), np.zeros(1 + num_features), 0.0
    for i in range(len(partner)):
        flow = flows[i, 0] + flows[i, 1] if side == 2 else flows[i, side]
        if flow[0] == 0:
            continue
        count += 1
        own = totals[partner[i]]
        row[_DEGREE_MEAN] += np.log1p(own[_DEGREE])
        row[_DEGREE_MAX] = max(row[_DEGREE_MAX], own[_DEGREE])
        row[_EVENTS_MEAN] += np.log1p(own[_EVENTS])
        row[_SENT_MEAN] += own[_SENT] / own[_EVENTS]
        squares += flow[0] * flow[0]
        for k in range(1 + num_features):
            sums[k] += flow[k]
            largest[k] = max(largest[k], flow[k])
        for k in range(num_features):
            row[len(_SIDE_COLUMNS) + len(_FEATURE_COLUMNS) * k] += own[_SUMS + k] / own[_EVENTS]
    if count == 0:
        return
    for column in (_DEGREE_MEAN, _EVENTS_MEAN, _SENT_MEAN):
        row[column] /= count
    row[_TOP_SHARE] = largest[0] / sums[0]
    row[_CONCENTRATION] = squares / (sums[0] * sums[0])
    for k in range(num_features):
        at = len(_SIDE_COLUMNS) + len(_FEATURE_COLUMNS) * k
        row[at] /= count
        if sums[1 + k] > 0:
            row[at + 1] = largest[1 + k] / sums[1 + k]


@jit
def _fill_summary(flows: NDArray[np.float64], row: NDArray[np.float64]) -> None:
    """Fill the columns about all partners."""
    mutual, events = 0, 0.0
    for i in range(len(flows)):
        mutual += flows[i, 0, 0] > 0 and flows[i, 1, 0] > 0
        events += flows[i, 0, 0] + flows[i, 1, 0]
    row[0], row[1] = mutual / len(flows), events / len(flows)
