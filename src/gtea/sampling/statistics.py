"""Plain statistics of accounts as of a cut: how often, with how many, how much, how regularly, how long ago.

Each is told for what an account sent (out), received (in), and both. All of an account's events before the cut are
counted, exactly, so the cost of a row is the account's own events, sorted by time: nothing is approximated for hubs,
and a hub of 2 million events costs about a second. ``NodeFeatures`` keeps what was computed, so that a hub is
paid for once a view and not once a batch. Times are in seconds, or steps. An account without events has zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.data.time_scaling import stored_per_second
from gtea.jit import jit
from gtea.sampling.graph import Graph, graph_of, visible_events, visible_slots
from gtea.store.view import View

_SIDES = ("out", "in", "both")
_OUT, _IN, _BOTH = range(3)
_OF_EVENTS = ("count", "partners", "since_first", "since_last", "span", "gap_mean", "gap_std", "gap_min", "gap_max")
_COUNT, _PARTNERS, _SINCE_FIRST, _SINCE_LAST, _SPAN, _GAP_MEAN, _GAP_STD, _GAP_MIN, _GAP_MAX = range(9)
_OF_FEATURES = ("sum", "mean", "std", "min", "max")
_SUM, _MEAN, _STD, _MIN, _MAX = range(5)


def statistic_names(features: Sequence[str]) -> tuple[str, ...]:
    """The names of the columns: for each side those of its events, then those of each feature."""
    of_features = [f"{feature}_{name}" for feature in features for name in _OF_FEATURES]
    return tuple(f"{side}_{name}" for side in _SIDES for name in (*_OF_EVENTS, *of_features))


def ageless(names: Sequence[str]) -> tuple[str, ...]:
    """The statistics that don't say how long before the cut something was."""
    return tuple(name for name in names if not name.endswith(("_since_first", "_since_last")))


def statistics(view: View, nodes: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """One row for each node; the columns are ``statistic_names(view.store.features)``."""
    return _statistics(graph_of(view), np.asarray(nodes, dtype=np.int64), stored_per_second(view.store.unit))


@jit
def _statistics(graph: Graph, nodes: NDArray[np.int64], per_second: int) -> NDArray[np.float64]:
    width = len(_OF_EVENTS) + len(_OF_FEATURES) * graph.event_features.shape[1]
    rows = np.zeros((len(nodes), 3, width), dtype=np.float64)
    for i in range(len(nodes)):
        start, stop = visible_slots(graph, nodes[i])
        times, sides = _read(graph, nodes[i], start, stop, rows[i])
        rows[i, _BOTH, _PARTNERS] = _distinct(graph.slot_neighbour[start:stop])
        if stop - start > 1:
            order = np.argsort(times, kind="mergesort")
            times, sides = times[order], sides[order]
        for side in range(3):
            if rows[i, side, _COUNT] > 0:
                _time(rows[i, side], times[(sides & (side + 1)) != 0], graph.cut, per_second)
                _finish(rows[i, side])
    return rows.reshape(len(nodes), 3 * width)


@jit
def _read(
    graph: Graph, node: int, start: int, stop: int, row: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count events, partners and feature values; returns the time and the side of each event.

    Sides are bits: sent 1, received 2, and 3 for what a node sends to itself.
    """
    count = 0
    for slot in range(start, stop):
        first, end = visible_events(graph, graph.slot_edge[slot])
        count += end - first
    times, sides = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    count = 0
    for slot in range(start, stop):
        edge = graph.slot_edge[slot]
        first, end = visible_events(graph, edge)
        sent_when = 0 if graph.edge_a[edge] == node else 1
        itself = graph.edge_a[edge] == graph.edge_b[edge]
        met = 0
        for event in range(first, end):
            side = 3 if itself else (1 if graph.event_reverse[event] == sent_when else 2)
            times[count], sides[count] = graph.event_time[event], side
            count += 1
            met |= side
            if side & 1:
                _add(row[_OUT], graph.event_features[event])
            if side & 2:
                _add(row[_IN], graph.event_features[event])
            _add(row[_BOTH], graph.event_features[event])
        row[_OUT, _PARTNERS] += met & 1
        row[_IN, _PARTNERS] += met >> 1
    return times, sides


@jit
def _add(side: NDArray[np.float64], values: NDArray[np.float32]) -> None:
    """One more event. Deviations grow value by value (Welford 1962): sums of squares cancel for large amounts."""
    side[_COUNT] += 1
    for k in range(len(values)):
        value = np.float64(values[k])
        of = side[len(_OF_EVENTS) + len(_OF_FEATURES) * k :]
        change = value - of[_MEAN]
        of[_SUM] += value
        of[_MEAN] += change / side[_COUNT]
        of[_STD] += change * (value - of[_MEAN])
        of[_MIN] = value if side[_COUNT] == 1 else min(of[_MIN], value)
        of[_MAX] = value if side[_COUNT] == 1 else max(of[_MAX], value)


@jit
def _time(side: NDArray[np.float64], times: NDArray[np.int64], cut: int, per_second: int) -> None:
    """How the events of a side lie in time, from their times in order."""
    side[_SINCE_FIRST] = (cut - times[0]) / per_second
    side[_SINCE_LAST] = (cut - times[-1]) / per_second
    side[_SPAN] = (times[-1] - times[0]) / per_second
    if len(times) > 1:
        gaps = (times[1:] - times[:-1]) / per_second
        side[_GAP_MEAN], side[_GAP_STD] = gaps.mean(), gaps.std()
        side[_GAP_MIN], side[_GAP_MAX] = gaps.min(), gaps.max()


@jit
def _finish(side: NDArray[np.float64]) -> None:
    """From sums of squared deviations to deviations."""
    for at in range(len(_OF_EVENTS) + _STD, len(side), len(_OF_FEATURES)):
        side[at] = np.sqrt(side[at] / side[_COUNT])


@jit
def _distinct(values: NDArray[np.int32]) -> int:
    """How many different values there are: a pair that pays both ways in a directed store is one partner."""
    ordered = np.sort(values)
    count = min(1, len(ordered))
    for i in range(1, len(ordered)):
        count += ordered[i] != ordered[i - 1]
    return count
