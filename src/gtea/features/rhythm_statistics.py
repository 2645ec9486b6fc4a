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
- ``alternation``: the share of events, but for the first, whose direction differs from the one before.
- ``day_cos``, ``day_sin``: the mean time of day (UTC) on the circle; zeros for counters.
- for each feature, ``passed``: the mean distance of log sizes between an event sent and the latest one received before
  it, each at most log(1000): near 0 for an account that passes on what it gets; -1 as above.

An account without events has zeros. A rate needs two events at different times, else it is zero. Events at the same
time follow each other in the order of the account's edges, so one may count as received before the other was sent.
An event from an account to itself is sent and received: a direction of its own in ``alternation``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.features.node_blocks import fill_rows, node_threads
from gtea.features.short_sorts import UNKNOWN_ORDER, sort_events
from gtea.runtime.jit import jit
from gtea.store.graph import Graph, graph_of, visible_events, visible_slots
from gtea.store.store import Store
from gtea.store.time_units import stored_per_second
from gtea.store.view import View

_SIDES = ("out", "in", "both")
NUM_SIDES = len(_SIDES)
_OUT, _IN, _BOTH = 1, 2, 3
"""Bit flags: an event from an account to itself is sent and received."""
_SIDE_COLUMNS = ("rate", "burstiness", "busiest", "trend")
NUM_SIDE_COLUMNS = len(_SIDE_COLUMNS)
_RATE, _BURSTINESS, _BUSIEST, _TREND = range(4)
_SUMMARY = ("hold_mean", "hold_min", "alternation", "day_cos", "day_sin")
_HOLD_MEAN, _HOLD_MIN, _ALTERNATION, _DAY_COS, _DAY_SIN = range(5)
_WINDOWS = 10
DAY = 86_400
_MAX_RATIO = math.log(1000)
_ROOM = 1024
"""The events that a buffer holds at first. It grows with the largest account: counting before reading takes longer."""


def rhythm_statistic_names(features: Sequence[str]) -> tuple[str, ...]:
    """Column names: for each side the statistics of its events, then the rate of each feature; the summary is last."""
    rates = [f"{feature}_rate" for feature in features]
    sides = [f"rhythm_{side}_{name}" for side in _SIDES for name in (*_SIDE_COLUMNS, *rates)]
    return (*sides, *(f"rhythm_{name}" for name in (*_SUMMARY, *(f"{feature}_passed" for feature in features))))


def rhythm_statistics(view: View, nodes: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """One row per node; the columns are ``rhythm_statistic_names(view.store.features)``."""
    return rhythm_statistics_in(graph_of(view), view.store, nodes)


def rhythm_statistics_in(
    graph: Graph, store: Store, nodes: NDArray[np.integer[Any]], order: NDArray[np.int64] = UNKNOWN_ORDER
) -> NDArray[np.float64]:
    """The same of nodes of a graph whose events are those of a store.

    Args:
        order: See ``gtea.features.short_sorts.UNKNOWN_ORDER``.
    """
    per_second = stored_per_second(store.unit)
    day = 0 if store.unit == "step" else DAY * per_second
    fill = partial(_fill, graph, order, per_second, day)
    return fill_rows(fill, nodes, len(rhythm_statistic_names(store.features)), node_threads(len(nodes)))


@jit
def _fill(
    graph: Graph,
    order: NDArray[np.int64],
    per_second: int,
    day: int,
    nodes: NDArray[np.int64],
    rows: NDArray[np.float64],
) -> None:
    width = NUM_SIDE_COLUMNS + graph.event_features.shape[1]
    # One buffer for all nodes: most have a handful of events, and an allocation costs more than reading them.
    buffers = np.empty((4, _ROOM), dtype=np.int64)
    for i in range(len(nodes)):
        count = _read(graph, nodes[i], order, buffers[0], buffers[1])
        if count > buffers.shape[1]:
            buffers = np.empty((4, 2 * count), dtype=np.int64)
            _read(graph, nodes[i], order, buffers[0], buffers[1])
        if count == 0:
            continue
        times, codes = buffers[0, :count], buffers[1, :count]
        for side in (_OUT, _IN, _BOTH):
            row = rows[i, (side - 1) * width : side * width]
            chosen = _choose(times, codes, side, buffers[2], buffers[3])
            if chosen > 0:
                unit = DAY if day > 0 else 1
                fill_side(graph.event_features, buffers[2, :chosen], buffers[3, :chosen], per_second, unit, row)
        fill_summary(graph.event_features, times, codes, per_second, day, _NOTHING_KNOWN, rows[i, NUM_SIDES * width :])


@jit
def _read(graph: Graph, node: int, order: NDArray[np.int64], times: NDArray[np.int64], codes: NDArray[np.int64]) -> int:
    """Fill the times and codes of a node's events in time order. A code is the event's number times 4, plus its side.

    Returns the number of events. If there is no room for them, nothing else is of use.
    """
    start, stop = visible_slots(graph, node)
    count = 0
    for slot in range(start, stop):
        edge = graph.slot_edge[slot]
        first, end = visible_events(graph, edge)
        if count + end - first > len(times):
            count += end - first
            continue
        sent_when = 0 if graph.edge_a[edge] == node else 1
        is_loop = graph.slot_neighbour[slot] == node
        for event in range(first, end):
            side = _BOTH if is_loop else (_OUT if graph.event_reverse[event] == sent_when else _IN)
            times[count], codes[count] = graph.event_time[event], 4 * event + side
            count += 1
    if stop - start > 1 and count <= len(times):
        sort_events(graph, start, times[:count], codes[:count], order)
    return count


@jit
def _choose(
    times: NDArray[np.int64],
    codes: NDArray[np.int64],
    side: int,
    chosen_times: NDArray[np.int64],
    chosen_codes: NDArray[np.int64],
) -> int:
    """Copy the times and codes of the events of one side. Returns their number."""
    count = 0
    for i in range(len(times)):
        if codes[i] & side:
            chosen_times[count], chosen_codes[count] = times[i], codes[i]
            count += 1
    return count


@jit
def fill_side(
    event_features: NDArray[np.float32],
    times: NDArray[np.int64],
    codes: NDArray[np.int64],
    per_second: int,
    unit: int,
    row: NDArray[np.float64],
) -> None:
    """Fill the columns of one side, given its events. Rates are per ``unit`` seconds (or steps)."""
    count, span = len(times), times[-1] - times[0]
    row[_BUSIEST], row[_TREND] = 1.0, 0.5
    if span == 0:
        return
    # In seconds before anything else: later events may change the stored unit, and must not change the rounding.
    length = span / per_second
    row[_RATE] = (count - 1) * unit / length
    mean, squares, middle = length / (count - 1), 0.0, 0.0
    for i in range(count):
        middle += (times[i] - times[0]) / span
        if i > 0:
            squares += ((times[i] - times[i - 1]) / per_second - mean) ** 2
    deviation = math.sqrt(squares / (count - 1))
    row[_BURSTINESS] = (deviation - mean) / (deviation + mean)
    row[_TREND] = middle / count
    row[_BUSIEST] = _most_within(times, span // _WINDOWS) / count
    for k in range(event_features.shape[1]):
        total = 0.0
        for code in codes:
            total += event_features[code >> 2, k]
        row[NUM_SIDE_COLUMNS + k] = total * unit / length


@jit
def _most_within(times: NDArray[np.int64], length: int) -> int:
    """The largest number of events of which the last is at most this much later than the first."""
    first, most = 0, 0
    for i in range(len(times)):
        # Not beyond event i, even if the times of a forged store are out of order, or are too far apart for 64 bits.
        while first < i and times[i] - times[first] > length:
            first += 1
        most = max(most, i - first + 1)
    return most


class KnownTerms(NamedTuple):
    """Terms of the summary that are known already, by event; empty arrays if none are."""

    received: NDArray[np.int64]
    """The latest event received before each, for which ``hold`` holds."""
    hold: NDArray[np.float64]
    """What a sent event adds to ``hold_mean``, and to ``passed`` of each feature."""
    day: NDArray[np.float64]
    """The cosine and sine of the time of day."""


_NOTHING_KNOWN = KnownTerms(np.empty(0, dtype=np.int64), np.empty((0, 0)), np.empty((0, 0)))


@jit
def fill_summary(
    event_features: NDArray[np.float32],
    times: NDArray[np.int64],
    codes: NDArray[np.int64],
    per_second: int,
    day: int,
    known: KnownTerms,
    row: NDArray[np.float64],
) -> None:
    """Fill the columns about the account as a whole."""
    num_features, count = event_features.shape[1], len(times)
    received, holds, changes = -1, 0, 0
    shortest, is_known = np.inf, len(known.received) > 0
    cosine = sine = 0.0
    for i in range(count):
        event, side = codes[i] >> 2, codes[i] & _BOTH
        if side & _OUT and received >= 0:
            source, hold = codes[received] >> 2, (times[i] - times[received]) / per_second
            holds += 1
            shortest = min(shortest, hold)
            if is_known and known.received[event] == source:
                row[_HOLD_MEAN] += known.hold[event, 0]
                for k in range(num_features):
                    row[len(_SUMMARY) + k] += known.hold[event, 1 + k]
            else:
                row[_HOLD_MEAN] += math.log1p(hold)
                for k in range(num_features):
                    row[len(_SUMMARY) + k] += passed_on(event_features[event, k], event_features[source, k])
        if side & _IN:
            received = i
        changes += i > 0 and side != codes[i - 1] & _BOTH
        if day > 0:
            if is_known:
                cosine += known.day[event, 0] / count
                sine += known.day[event, 1] / count
            else:
                angle = 2 * math.pi * ((times[i] % day) / day)
                cosine += math.cos(angle) / count
                sine += math.sin(angle) / count
    row[_DAY_COS], row[_DAY_SIN] = cosine, sine
    row[_HOLD_MEAN] = row[_HOLD_MEAN] / holds if holds > 0 else -1.0
    row[_HOLD_MIN] = shortest if holds > 0 else -1.0
    if count > 1:
        row[_ALTERNATION] = changes / (count - 1)
    for k in range(num_features):
        row[len(_SUMMARY) + k] = row[len(_SUMMARY) + k] / holds if holds > 0 else -1.0


@jit
def passed_on(sent: np.float32, got: np.float32) -> float:
    """The distance of two sizes on a log scale, at most log(1000)."""
    return _log_distance(abs(np.float64(sent)), abs(np.float64(got)))


@jit
def _log_distance(one: float, other: float) -> float:
    """The distance of two sizes on a log scale, at most log(1000)."""
    if one == other:
        return 0.0
    if one == 0 or other == 0:
        return _MAX_RATIO
    return min(abs(math.log(one / other)), _MAX_RATIO)
