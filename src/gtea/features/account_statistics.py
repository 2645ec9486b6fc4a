"""Plain statistics of accounts as of a cut: how often, with how many, how much, how regularly, how long ago.

Each is told for what an account sent (out), received (in), and both. Of each feature two more tell what stayed: what
came in less what went out, and the size of that difference beside the larger of the two, as a power of ten. Who passes
on all that comes in has two sums that are nearly the same; no network or tree sees a difference in the fourth digit.

All of an account's events before the cut are counted, exactly, so the cost of a row is the account's own events, sorted
by time: nothing is approximated for hubs, and a hub of 2 million events costs about a second. ``NodeFeatures`` keeps
what was computed, so that a hub is paid for once a view and not once a batch. Times are in seconds, or steps. An
account without events has zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit
from gtea.store.graph import Graph, graph_of, visible_events, visible_slots
from gtea.store.time_units import stored_per_second
from gtea.store.view import View

_SIDES = ("out", "in", "both")
_OUT, _IN, _BOTH = range(3)
_OF_EVENTS = ("count", "partners", "since_first", "since_last", "span", "gap_mean", "gap_std", "gap_min", "gap_max")
_COUNT, _PARTNERS, _SINCE_FIRST, _SINCE_LAST, _SPAN, _GAP_MEAN, _GAP_STD, _GAP_MIN, _GAP_MAX = range(9)
_OF_FEATURES = ("sum", "mean", "std", "min", "max")
_SUM, _MEAN, _STD, _MIN, _MAX = range(5)
_NET_FLOW = ("net", "left")
_NOTHING_LEFT = 1e-6
"""A difference below this share is what rounding leaves of amounts in float32."""
_SHORT = 24
"""Up to here, sorting by insertion and looking for equals one by one beat asking for memory."""


def statistic_names(features: Sequence[str]) -> tuple[str, ...]:
    """The names of the columns: for each side those of its events, then those of each feature; then what stayed."""
    of_features = [f"{feature}_{name}" for feature in features for name in _OF_FEATURES]
    of_sides = [f"{side}_{name}" for side in _SIDES for name in (*_OF_EVENTS, *of_features)]
    return (*of_sides, *net_flow_names(features))


def net_flow_names(features: Sequence[str]) -> tuple[str, ...]:
    """The statistics that hold what came in against what went out."""
    return tuple(f"{name}_{feature}" for feature in features for name in _NET_FLOW)


def without_recency(names: Sequence[str]) -> tuple[str, ...]:
    """The statistics that don't say how long before the cut something was."""
    return tuple(name for name in names if not name.endswith(("_since_first", "_since_last")))


def statistics(view: View, nodes: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """One row for each node; the columns are ``statistic_names(view.store.features)``."""
    return _statistics(graph_of(view), np.asarray(nodes, dtype=np.int64), stored_per_second(view.store.unit))


@jit
def _statistics(graph: Graph, nodes: NDArray[np.int64], per_second: int) -> NDArray[np.float64]:
    num_features = graph.event_features.shape[1]
    width = len(_OF_EVENTS) + len(_OF_FEATURES) * num_features
    rows = np.zeros((len(nodes), 3 * width + len(_NET_FLOW) * num_features), dtype=np.float64)
    # One room for all: most accounts have a handful of events, and asking for memory costs more than counting them.
    room = 0
    for i in range(len(nodes)):
        room = max(room, _count(graph, nodes[i]))
    times, sides = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    for i in range(len(nodes)):
        start, stop = visible_slots(graph, nodes[i])
        by_side = rows[i, : 3 * width].reshape(3, width)
        count = _read(graph, nodes[i], start, stop, by_side, times, sides)
        by_side[_BOTH, _PARTNERS] = _distinct(graph.slot_neighbour[start:stop])
        if stop - start > 1:
            _sort_by_time(times[:count], sides[:count])
        for side in range(3):
            if by_side[side, _COUNT] > 0:
                _time(by_side[side], times[:count], sides[:count], side + 1, graph.cut, per_second)
                _finish(by_side[side])
        for k in range(num_features):
            at = len(_OF_EVENTS) + len(_OF_FEATURES) * k + _SUM
            _flow(by_side[_IN, at], by_side[_OUT, at], rows[i, 3 * width + len(_NET_FLOW) * k :])
    return rows


@jit
def _count(graph: Graph, node: int) -> int:
    """How many events a node has."""
    start, stop = visible_slots(graph, node)
    count = 0
    for slot in range(start, stop):
        first, end = visible_events(graph, graph.slot_edge[slot])
        count += end - first
    return count


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
    """Count events, partners and feature values; writes down the time and the side of each event.

    Sides are bits: sent 1, received 2, and 3 for what a node sends to itself.
    """
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
    return count


@jit
def _sort_by_time(times: NDArray[np.int64], sides: NDArray[np.int64]) -> None:
    """Both in the order of time, in their place."""
    if len(times) > _SHORT:
        order = np.argsort(times, kind="mergesort")
        times[:], sides[:] = times[order], sides[order]
        return
    for i in range(1, len(times)):
        time, side, place = times[i], sides[i], i
        while place > 0 and times[place - 1] > time:
            times[place], sides[place] = times[place - 1], sides[place - 1]
            place -= 1
        times[place], sides[place] = time, side


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
def _time(
    row: NDArray[np.float64],
    times: NDArray[np.int64],
    sides: NDArray[np.int64],
    side: int,
    cut: int,
    per_second: int,
) -> None:
    """How the events of a side lie in time, from all events in order."""
    num_gaps, total, shortest, longest = 0, 0.0, np.inf, 0.0
    first = last = np.int64(0)
    for i in range(len(times)):
        if sides[i] & side:
            if num_gaps == 0:
                first = times[i]
            else:
                gap = (times[i] - last) / per_second
                total += gap
                shortest, longest = min(shortest, gap), max(longest, gap)
            last = times[i]
            num_gaps += 1
    num_gaps -= 1
    row[_SINCE_FIRST] = (cut - first) / per_second
    row[_SINCE_LAST] = (cut - last) / per_second
    row[_SPAN] = (last - first) / per_second
    if num_gaps == 0:
        return
    mean, deviation = total / num_gaps, 0.0
    before, begun = np.int64(0), False
    for i in range(len(times)):
        if sides[i] & side:
            if begun:
                deviation += ((times[i] - before) / per_second - mean) ** 2
            before, begun = times[i], True
    row[_GAP_MEAN], row[_GAP_STD] = mean, np.sqrt(deviation / num_gaps)
    row[_GAP_MIN], row[_GAP_MAX] = shortest, longest


@jit
def _finish(side: NDArray[np.float64]) -> None:
    """From sums of squared deviations to deviations."""
    for at in range(len(_OF_EVENTS) + _STD, len(side), len(_OF_FEATURES)):
        side[at] = np.sqrt(side[at] / side[_COUNT])


@jit
def _flow(came: float, went: float, row: NDArray[np.float64]) -> None:
    """What stayed of a feature, and its share as a power of ten: 0 for all of it, -6 for nothing."""
    most = max(abs(came), abs(went))
    row[0] = came - went
    if most > 0:
        row[1] = np.log10(min(max(abs(came - went) / most, _NOTHING_LEFT), 1.0))


@jit
def _distinct(values: NDArray[np.int32]) -> int:
    """How many different values there are: a pair that pays both ways in a directed store is one partner."""
    count = min(1, len(values))
    if len(values) > _SHORT:
        ordered = np.sort(values)
        for i in range(1, len(ordered)):
            count += ordered[i] != ordered[i - 1]
        return count
    for i in range(1, len(values)):
        new = 1
        for j in range(i):
            if values[j] == values[i]:
                new = 0
                break
        count += new
    return count
