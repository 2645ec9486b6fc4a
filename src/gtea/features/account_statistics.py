"""Account statistics as of a cut: event counts, partners, amounts, time gaps and recency.

Each statistic is computed for events sent (out), events received (in) and both. Each feature also has two net flow
columns: the sum received minus the sum sent, and log10 of the size of that difference relative to the larger of the two
sums. An account that passes on everything it receives has two nearly equal sums, and neither a network nor a tree can
see a difference in the fourth digit.

All of an account's events before the cut are counted, exactly. A row costs one sort of the account's events by time.
Hubs are not approximated: 2 million events take about a second. ``NodeFeatures`` caches the rows, so a hub is computed
once per view and not once per batch. Times are in seconds, or in steps for counters. An account without events has
zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.features.node_blocks import fill_rows, node_threads
from gtea.features.short_sorts import UNKNOWN_ORDER, distinct, sort_events
from gtea.runtime.jit import jit
from gtea.store.graph import Graph, graph_of, visible_events, visible_slots
from gtea.store.store import Store
from gtea.store.time_units import stored_per_second
from gtea.store.view import View

_SIDES = ("out", "in", "both")
_OUT, _IN, _BOTH = range(3)
_EVENT_STATISTICS = (
    "count",
    "partners",
    "since_first",
    "since_last",
    "span",
    "gap_mean",
    "gap_std",
    "gap_min",
    "gap_max",
)
NUM_EVENT_STATISTICS = len(_EVENT_STATISTICS)
COUNT, PARTNERS, _SINCE_FIRST, _SINCE_LAST, _SPAN, _GAP_MEAN, _GAP_STD, _GAP_MIN, _GAP_MAX = range(9)
_FEATURE_STATISTICS = ("sum", "mean", "std", "min", "max")
NUM_FEATURE_STATISTICS = len(_FEATURE_STATISTICS)
_SUM, _MEAN, _STD, _MIN, _MAX = range(5)
_NET_FLOW = ("net", "left")
_MIN_NET_SHARE = 1e-6
"""Smaller relative differences are rounding errors of float32 amounts."""
_ROOM = 1024
"""The events that a buffer holds at first. It grows with the largest account: counting before reading takes longer."""


def statistic_names(features: Sequence[str]) -> tuple[str, ...]:
    """Column names: for each side the event statistics, then those of each feature; the net flow columns come last."""
    feature_names = [f"{feature}_{name}" for feature in features for name in _FEATURE_STATISTICS]
    side_names = [f"{side}_{name}" for side in _SIDES for name in (*_EVENT_STATISTICS, *feature_names)]
    return (*side_names, *net_flow_names(features))


def net_flow_names(features: Sequence[str]) -> tuple[str, ...]:
    """The names of the net flow columns."""
    return tuple(f"{name}_{feature}" for feature in features for name in _NET_FLOW)


def without_recency(names: Sequence[str]) -> tuple[str, ...]:
    """The names without the recency columns (time from an event to the cut)."""
    return tuple(name for name in names if not name.endswith(("_since_first", "_since_last")))


def statistics(view: View, nodes: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """One row per node; the columns are ``statistic_names(view.store.features)``."""
    return statistics_in(graph_of(view), view.store, nodes)


def statistics_in(
    graph: Graph, store: Store, nodes: NDArray[np.integer[Any]], order: NDArray[np.int64] = UNKNOWN_ORDER
) -> NDArray[np.float64]:
    """The same of nodes of a graph whose events are those of a store.

    Args:
        order: See ``gtea.features.short_sorts.UNKNOWN_ORDER``.
    """
    fill = partial(_fill, graph, order, stored_per_second(store.unit))
    return fill_rows(fill, nodes, len(statistic_names(store.features)), node_threads(len(nodes)))


@jit
def _fill(
    graph: Graph, order: NDArray[np.int64], per_second: int, nodes: NDArray[np.int64], rows: NDArray[np.float64]
) -> None:
    num_features = graph.event_features.shape[1]
    width = NUM_EVENT_STATISTICS + NUM_FEATURE_STATISTICS * num_features
    # One buffer for all nodes: most have a handful of events, and an allocation costs more than reading them.
    times, sides = np.empty(_ROOM, dtype=np.int64), np.empty(_ROOM, dtype=np.int64)
    one_side = np.empty(_ROOM, dtype=np.int64)
    for i in range(len(nodes)):
        start, stop = visible_slots(graph, nodes[i])
        by_side = rows[i, : 3 * width].reshape(3, width)
        count = _read(graph, nodes[i], start, stop, by_side, times, sides)
        if count > len(times):
            times, sides = np.empty(2 * count, dtype=np.int64), np.empty(2 * count, dtype=np.int64)
            one_side = np.empty(2 * count, dtype=np.int64)
            by_side[:] = 0
            _read(graph, nodes[i], start, stop, by_side, times, sides)
        by_side[_BOTH, PARTNERS] = distinct(graph.slot_neighbour[start:stop])
        if stop - start > 1:
            sort_events(graph, start, times[:count], sides[:count], order)
        for side in range(3):
            if by_side[side, COUNT] > 0:
                chosen = _choose(times[:count], sides[:count], side + 1, one_side)
                fill_times(by_side[side], one_side[:chosen], graph.cut, per_second)
                finish(by_side[side])
        fill_net_flow(by_side, rows[i, 3 * width :])


@jit
def _read(
    graph: Graph,
    node: int,
    start: int,
    stop: int,
    row: NDArray[np.float64],
    times: NDArray[np.int64],
    sides: NDArray[np.int64],
) -> int:
    """Accumulate counts, partners and feature values in ``row``, and write the time and side of each event.

    Sides are bit flags: 1 for sent, 2 for received, 3 for an event from a node to itself. Returns the number of events;
    if there is no room for them, nothing else is of use.
    """
    count = 0
    for slot in range(start, stop):
        edge = graph.slot_edge[slot]
        first, end = visible_events(graph, edge)
        if count + end - first > len(times):
            count += end - first
            continue
        sent_when = 0 if graph.edge_a[edge] == node else 1
        is_loop = graph.slot_neighbour[slot] == node
        sides_seen = 0
        for event in range(first, end):
            side = 3 if is_loop else (1 if graph.event_reverse[event] == sent_when else 2)
            times[count], sides[count] = graph.event_time[event], side
            count += 1
            sides_seen |= side
            if side & 1:
                add_event(row[_OUT], graph.event_features[event])
            if side & 2:
                add_event(row[_IN], graph.event_features[event])
            add_event(row[_BOTH], graph.event_features[event])
        row[_OUT, PARTNERS] += sides_seen & 1
        row[_IN, PARTNERS] += sides_seen >> 1
    return count


@jit
def add_event(side: NDArray[np.float64], values: NDArray[np.float32]) -> None:
    """Add one event. Deviations are updated value by value (Welford 1962): sums of squares cancel for large amounts."""
    side[COUNT] += 1
    for k in range(len(values)):
        value = np.float64(values[k])
        stats = side[NUM_EVENT_STATISTICS + NUM_FEATURE_STATISTICS * k :]
        change = value - stats[_MEAN]
        stats[_SUM] += value
        stats[_MEAN] += change / side[COUNT]
        stats[_STD] += change * (value - stats[_MEAN])
        stats[_MIN] = value if side[COUNT] == 1 else min(stats[_MIN], value)
        stats[_MAX] = value if side[COUNT] == 1 else max(stats[_MAX], value)


@jit
def _choose(times: NDArray[np.int64], sides: NDArray[np.int64], side: int, chosen: NDArray[np.int64]) -> int:
    """Copy the times of the events of one side, a bit flag. Returns their number."""
    count = 0
    for i in range(len(times)):
        if sides[i] & side:
            chosen[count] = times[i]
            count += 1
    return count


@jit
def fill_times(row: NDArray[np.float64], times: NDArray[np.int64], cut: int, per_second: int) -> None:
    """Fill the time statistics of one side, given the times of its events in ascending order."""
    row[_SINCE_FIRST] = (cut - times[0]) / per_second
    row[_SINCE_LAST] = (cut - times[-1]) / per_second
    row[_SPAN] = (times[-1] - times[0]) / per_second
    num_gaps = len(times) - 1
    if num_gaps == 0:
        return
    total, shortest, longest = 0.0, np.inf, 0.0
    for i in range(num_gaps):
        gap = (times[i + 1] - times[i]) / per_second
        total += gap
        shortest, longest = min(shortest, gap), max(longest, gap)
    mean, deviation = total / num_gaps, 0.0
    for i in range(num_gaps):
        deviation += ((times[i + 1] - times[i]) / per_second - mean) ** 2
    row[_GAP_MEAN], row[_GAP_STD] = mean, np.sqrt(deviation / num_gaps)
    row[_GAP_MIN], row[_GAP_MAX] = shortest, longest


@jit
def finish(side: NDArray[np.float64]) -> None:
    """Turn sums of squared deviations into standard deviations."""
    for at in range(NUM_EVENT_STATISTICS + _STD, len(side), NUM_FEATURE_STATISTICS):
        side[at] = np.sqrt(side[at] / side[COUNT])


@jit
def fill_net_flow(by_side: NDArray[np.float64], row: NDArray[np.float64]) -> None:
    """Fill the net flow of each feature, and log10 of its relative size: from -6 (all passed on) to 0 (all kept)."""
    for k in range(len(row) // len(_NET_FLOW)):
        at = NUM_EVENT_STATISTICS + NUM_FEATURE_STATISTICS * k + _SUM
        received, sent = by_side[_IN, at], by_side[_OUT, at]
        larger = max(abs(received), abs(sent))
        row[len(_NET_FLOW) * k] = received - sent
        if larger > 0:
            share = min(max(abs(received - sent) / larger, _MIN_NET_SHARE), 1.0)
            row[len(_NET_FLOW) * k + 1] = np.log10(share)
