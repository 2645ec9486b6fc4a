"""Statistics of an account's rhythm as of a cut: rates, bursts, and how fast money passes through.

They are stated per unit of time or as shares, so that they mean the same for an account of a week and one of a year.
For events sent (out), received (in) and both:

- ``rate``: events per day (or step) between the first and the last event.
- ``burstiness``: (s - m) / (s + m) of the mean m and the standard deviation s of the gaps: -1 for a clock, 0 for
  chance, towards 1 for bursts (Goh and Barabasi 2008).
- ``busiest``: the largest share of events within a tenth of the time between the first and the last one.
- ``trend``: where in this time the mean event lies, from 0 (all at the start) to 1.
- for each feature, ``rate``: its sum per day (or step).

For the account as a whole:

- ``hold_mean``, ``hold_min``: the time from each event sent back to the latest event received before it, as the mean of
  log(1 + seconds) and the shortest in seconds; -1 if nothing was sent after something was received.
- ``alternation``: the share of events whose direction differs from the one before.
- ``day_cos``, ``day_sin``: the mean time of day on the circle; zeros for counters.
- for each feature, ``passed``: the mean distance of log sizes between an event sent and the latest one received before
  it, at most log(1000): near 0 for an account that passes on what it gets.

An account without events has zeros. A rate needs two events at different times, else it is zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit
from gtea.store.graph import Graph, graph_of, visible_events, visible_slots
from gtea.store.time_units import stored_per_second
from gtea.store.view import View

_SIDES = ("out", "in", "both")
_SIDE_COLUMNS = ("rate", "burstiness", "busiest", "trend")
_RATE, _BURSTINESS, _BUSIEST, _TREND = range(4)
_SUMMARY = ("hold_mean", "hold_min", "alternation", "day_cos", "day_sin")
_HOLD_MEAN, _HOLD_MIN, _ALTERNATION, _DAY_COS, _DAY_SIN = range(5)
_WINDOW_SHARE = 0.1
_DAY = 86_400
_MAX_RATIO = math.log(1000)


def rhythm_statistic_names(features: Sequence[str]) -> tuple[str, ...]:
    """Column names: for each side the statistics of its events, then the rate of each feature; the summary is last."""
    rates = [f"{feature}_rate" for feature in features]
    sides = [f"rhythm_{side}_{name}" for side in _SIDES for name in (*_SIDE_COLUMNS, *rates)]
    return (*sides, *(f"rhythm_{name}" for name in (*_SUMMARY, *(f"{feature}_passed" for feature in features))))


def rhythm_statistics(view: View, nodes: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """One row per node; the columns are ``rhythm_statistic_names(view.store.features)``."""
    counter = view.store.unit == "step"
    per_second = stored_per_second(view.store.unit)
    day = 0 if counter else _DAY * per_second
    return _rows(graph_of(view), np.asarray(nodes, dtype=np.int64), per_second, day)


@jit
def _rows(graph: Graph, nodes: NDArray[np.int64], per_second: int, day: int) -> NDArray[np.float64]:
    num_features = graph.event_features.shape[1]
    width = len(_SIDE_COLUMNS) + num_features
    rows = np.zeros((len(nodes), 3 * width + len(_SUMMARY) + num_features))
    for i in range(len(nodes)):
        times, sides, events = _read(graph, nodes[i])
        if len(times) == 0:
            continue
        for side in range(3):
            _fill_side(graph, times, sides, events, side + 1, max(day, per_second), rows[i, side * width :][:width])
        _fill_summary(graph, times, sides, events, per_second, day, rows[i, 3 * width :])
    return rows


@jit
def _read(graph: Graph, node: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The times, sides and numbers of a node's events in time order. Sides: 1 is sent, 2 received, 3 both (a loop)."""
    start, stop = visible_slots(graph, node)
    count = 0
    for slot in range(start, stop):
        first, end = visible_events(graph, graph.slot_edge[slot])
        count += end - first
    times, sides = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    events = np.empty(count, dtype=np.int64)
    count = 0
    for slot in range(start, stop):
        edge = graph.slot_edge[slot]
        first, end = visible_events(graph, edge)
        sent_when = 0 if graph.edge_a[edge] == node else 1
        is_loop = graph.edge_a[edge] == graph.edge_b[edge]
        for event in range(first, end):
            times[count], events[count] = graph.event_time[event], event
            sides[count] = 3 if is_loop else (1 if graph.event_reverse[event] == sent_when else 2)
            count += 1
    if stop - start > 1:
        order = np.argsort(times, kind="mergesort")
        times, sides, events = times[order], sides[order], events[order]
    return times, sides, events


@jit
def _fill_side(
    graph: Graph,
    times: NDArray[np.int64],
    sides: NDArray[np.int64],
    events: NDArray[np.int64],
    side: int,
    unit: int,
    row: NDArray[np.float64],
) -> None:
    """Fill the columns of one side: 1 is out, 2 is in, 3 is both."""
    chosen = np.flatnonzero((sides & side) > 0)
    if len(chosen) == 0:
        return
    own = times[chosen]
    span = own[-1] - own[0]
    row[_BUSIEST], row[_TREND] = 1.0, 0.5
    if span == 0:
        return
    count = len(own)
    row[_RATE] = (count - 1) * unit / span
    mean, squares, middle = span / (count - 1), 0.0, 0.0
    for i in range(count):
        middle += (own[i] - own[0]) / span
        if i > 0:
            squares += (own[i] - own[i - 1] - mean) ** 2
    deviation = math.sqrt(squares / (count - 1))
    row[_BURSTINESS] = (deviation - mean) / (deviation + mean)
    row[_TREND] = middle / count
    first, most = 0, 0
    for i in range(count):
        while own[i] - own[first] > _WINDOW_SHARE * span:
            first += 1
        most = max(most, i - first + 1)
    row[_BUSIEST] = most / count
    for k in range(graph.event_features.shape[1]):
        total = 0.0
        for event in events[chosen]:
            total += graph.event_features[event, k]
        row[len(_SIDE_COLUMNS) + k] = total * unit / span


@jit
def _fill_summary(
    graph: Graph,
    times: NDArray[np.int64],
    sides: NDArray[np.int64],
    events: NDArray[np.int64],
    per_second: int,
    day: int,
    row: NDArray[np.float64],
) -> None:
    """Fill the columns about the account as a whole."""
    num_features = graph.event_features.shape[1]
    received, holds, changes = -1, 0, 0
    shortest = np.inf
    for i in range(len(times)):
        if sides[i] & 1 and received >= 0:
            hold = (times[i] - times[received]) / per_second
            holds += 1
            row[_HOLD_MEAN] += math.log1p(hold)
            shortest = min(shortest, hold)
            for k in range(num_features):
                sent = abs(np.float64(graph.event_features[events[i], k]))
                got = abs(np.float64(graph.event_features[events[received], k]))
                row[len(_SUMMARY) + k] += _log_distance(sent, got)
        if sides[i] & 2:
            received = i
        changes += i > 0 and sides[i] != sides[i - 1]
        if day > 0:
            angle = 2 * math.pi * (times[i] % day) / day
            row[_DAY_COS] += math.cos(angle) / len(times)
            row[_DAY_SIN] += math.sin(angle) / len(times)
    row[_HOLD_MEAN] = row[_HOLD_MEAN] / holds if holds > 0 else -1.0
    row[_HOLD_MIN] = shortest if holds > 0 else -1.0
    if len(times) > 1:
        row[_ALTERNATION] = changes / (len(times) - 1)
    for k in range(num_features):
        row[len(_SUMMARY) + k] = row[len(_SUMMARY) + k] / holds if holds > 0 else -1.0


@jit
def _log_distance(one: float, other: float) -> float:
    """The distance of two sizes on a log scale, at most log(1000)."""
    if one == other:
        return 0.0
    if one == 0 or other == 0:
        return _MAX_RATIO
    return min(abs(math.log(one / other)), _MAX_RATIO)
