"""Pair statistics as of a cut: the events of the pair, the activity of each account, and paths between the two.

Counts, times since events, and the activity in the last 1, 3 and 7 units of time. Times are activity times
(``gtea.features.activity_time``); a unit is as many events as the graph had per day (or unit of a counter) in the
training window. Models trained by gtea 0.1 use clock time. A time of something that never happened is NaN, and a count
is 0. In a directed store a pair's events are those of both directions. The cost of a row does not depend on degrees: it
takes a few binary searches, and paths use only the 100 most recent neighbours of each account.

Five statistics describe the paths between src and dst that pass through neither of them again (decision 18):

- ``paths_of_2``: the number of paths of two edges.
- ``paths_of_3``: the number of paths src - x - w - dst.
- ``walks_of_3``: their share among all walks of three edges that start at dst.
- ``paths_of_3_at_once``: their number, weighted less the more time lies between the first events of x - w and w - dst.
- ``paths_of_3_onward``: the same for paths in time order, where w dealt with x before dst. Weighted by how recently
  src dealt with x, and averaged over the neighbours of dst.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gtea.features.time_lookup import TimeLookup, activity_time_of, as_they_are, begin_of
from gtea.runtime.jit import jit
from gtea.store.graph import Graph, edge_between, first_not_before, graph_of, visible_events, visible_slots
from gtea.store.timeline import Timeline, timeline_of
from gtea.store.view import View

_WINDOWS = (1, 3, 7)
_LAST = tuple(f"last_{window}" for window in _WINDOWS)
_NEW = tuple(f"new_{window}" for window in _WINDOWS)
_NODE_COLUMNS = ("count", "partners", "since_first", "since_last", *_LAST, *_NEW)
_PAIR_COLUMNS = ("count", "since_first", "since_last", *_LAST)
_PATH_COLUMNS = ("paths_of_2", "paths_of_3", "walks_of_3", "paths_of_3_at_once", "paths_of_3_onward")
_MAX_NEIGHBOURS = 100
"""How many recent neighbours of an account are searched for paths."""
_PLACES = 256
"""Places in the table of src's recent neighbours: a power of two, and more than twice as many as there can be."""

PAIR_STATISTICS = (
    *(f"src_{name}" for name in _NODE_COLUMNS),
    *(f"dst_{name}" for name in _NODE_COLUMNS),
    *(f"pair_{name}" for name in _PAIR_COLUMNS),
    "src_events_since_pair",
    *_PATH_COLUMNS,
)
"""The column names."""


class PairStatistics:
    """Computes the pair statistics of one view."""

    def __init__(self, graph: Graph, per_unit: float) -> None:
        """Build the timeline of the graph's events.

        Args:
            graph: The graph of a view, in activity time or in clock time.
            per_unit: How much of the graph's time makes one unit.
        """
        self._graph = graph
        self._timeline = timeline_of(self._graph)
        self._per_unit = per_unit

    def rows(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.float64]:
        """One row per pair; the columns are ``PAIR_STATISTICS``."""
        width, lookup = len(PAIR_STATISTICS), as_they_are()
        return _rows(self._graph, self._timeline, lookup, src, dst, self._per_unit, width)


class PairStatisticsApart:
    """The same for some pairs of a graph of which nothing can be held that is as long as all events or accounts.

    What is about an account alone takes a pass over its events. So it is computed once, by ``of_accounts``, wherever
    the account is at home, and the rows of pairs are made of that.
    """

    def __init__(self, graph: Graph, lookup: TimeLookup, per_unit: float) -> None:
        """Prepare to compute.

        Args:
            graph: The graph of a view, in clock time.
            lookup: Its activity times, or times as they are.
            per_unit: How much of the time that ``lookup`` gives makes one unit.
        """
        self._graph, self._lookup, self._per_unit = graph, lookup, per_unit

    def of_accounts(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The columns about an account: one row each."""
        return _account_rows(self._graph, self._lookup, nodes, self._per_unit, len(_NODE_COLUMNS))

    def rows(
        self,
        src: NDArray[np.int64],
        dst: NDArray[np.int64],
        of_src: NDArray[np.float64],
        of_dst: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """One row per pair. Pairs with the same src must lie side by side.

        Args:
            of_src: The columns about each pair's src.
            of_dst: The columns about each pair's dst.
        """
        rows = np.concatenate([of_src, of_dst, np.zeros((len(src), len(PAIR_STATISTICS) - 2 * len(_NODE_COLUMNS)))], 1)
        _fill_between(self._graph, self._lookup, src, dst, self._per_unit, rows)
        return rows


def time_since_last_event(
    view: View, src: NDArray[np.int64], dst: NDArray[np.int64], per_unit: float
) -> NDArray[np.float64]:
    """The time from each pair's last event to the cut; infinite if the pair has no events."""
    return _time_since_last_event(graph_of(view), src, dst) / per_unit


@jit
def _rows(
    graph: Graph,
    timeline: Timeline,
    lookup: TimeLookup,
    src: NDArray[np.int64],
    dst: NDArray[np.int64],
    per_unit: float,
    width: int,
) -> NDArray[np.float64]:
    rows = np.zeros((len(src), width))
    num_node, num_pair = len(_NODE_COLUMNS), len(_PAIR_COLUMNS)
    pair, since = 2 * num_node, 2 * num_node + num_pair
    begins = _begins(graph, lookup, per_unit)
    known, number = np.full(_PLACES, -1), np.zeros(_PLACES, dtype=np.int64)
    for i in range(len(src)):
        _fill_node(graph, timeline, src[i], per_unit, begins, rows[i, :num_node])
        _fill_node(graph, timeline, dst[i], per_unit, begins, rows[i, num_node:pair])
        last = _fill_pair(graph, lookup, src[i], dst[i], per_unit, begins, rows[i, pair:since])
        stop = timeline.offset[src[i] + 1]
        after = first_not_before(timeline.time, timeline.offset[src[i]], stop, last + 1)
        rows[i, since] = stop - after if rows[i, pair] > 0 else np.nan
        _fill_paths(graph, lookup, src[i], dst[i], per_unit, known, number, rows[i, since + 1 :])
    return rows


@jit
def _fill_between(
    graph: Graph,
    lookup: TimeLookup,
    src: NDArray[np.int64],
    dst: NDArray[np.int64],
    per_unit: float,
    rows: NDArray[np.float64],
) -> None:
    """Fill all columns but those about an account alone."""
    pair = 2 * len(_NODE_COLUMNS)
    since = pair + len(_PAIR_COLUMNS)
    begins, last = _begins(graph, lookup, per_unit), np.zeros(len(src), dtype=np.int64)
    known, number = np.full(_PLACES, -1), np.zeros(_PLACES, dtype=np.int64)
    for i in range(len(src)):
        last[i] = _fill_pair(graph, lookup, src[i], dst[i], per_unit, begins, rows[i, pair:since])
        _fill_paths(graph, lookup, src[i], dst[i], per_unit, known, number, rows[i, since + 1 :])
    first = 0
    while first < len(src):
        stop = first + 1
        while stop < len(src) and src[stop] == src[first]:
            stop += 1
        met = first + np.flatnonzero(rows[first:stop, pair] > 0)
        rows[first:stop, since] = np.nan
        if len(met) > 0:
            rows[met, since] = _events_after(graph, src[first], last[met])
        first = stop


@jit
def _events_after(graph: Graph, node: int, times: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many events of a node are after each of some times: one pass over its events for all of them."""
    order = np.argsort(times)
    ascending = times[order]
    passed = np.zeros(len(times) + 1, dtype=np.int64)  # how many events are after that many of the times, and no more
    start, stop = visible_slots(graph, node)
    for slot in range(start, stop):
        first, end = visible_events(graph, graph.slot_edge[slot])
        for event in range(first, end):
            passed[first_not_before(ascending, 0, len(ascending), graph.event_time[event])] += 1
    found = np.empty(len(times), dtype=np.int64)
    after = 0
    for place in range(len(times) - 1, -1, -1):
        after += passed[place + 1]
        found[order[place]] = after
    return found


@jit
def _account_rows(
    graph: Graph, lookup: TimeLookup, nodes: NDArray[np.int64], per_unit: float, width: int
) -> NDArray[np.float64]:
    """What ``_fill_node`` finds in a timeline, found in the events of each slot."""
    rows, begins = np.zeros((len(nodes), width)), _begins(graph, lookup, per_unit)
    for i in range(len(nodes)):
        slots = visible_slots(graph, nodes[i])
        earliest, latest = graph.cut, graph.cut
        for slot in range(slots[0], slots[1]):
            first, end = visible_events(graph, graph.slot_edge[slot])
            earliest = min(earliest, graph.event_time[first])
            latest = graph.event_time[end - 1] if slot == slots[0] else max(latest, graph.event_time[end - 1])
            rows[i, 0] += end - first
            for k in range(len(_WINDOWS)):
                rows[i, 4 + k] += end - first_not_before(graph.event_time, first, end, begins[k])
        rows[i, 1] = slots[1] - slots[0]
        rows[i, 2] = _since(graph, lookup, earliest, per_unit) if slots[1] > slots[0] else np.nan
        rows[i, 3] = _since(graph, lookup, latest, per_unit) if slots[1] > slots[0] else np.nan
        _fill_new(graph, slots, begins, rows[i])
    return rows


@jit
def _begins(graph: Graph, lookup: TimeLookup, per_unit: float) -> NDArray[np.int64]:
    """Where the windows begin, in the times of the graph."""
    begins, cut = np.empty(len(_WINDOWS), dtype=np.int64), activity_time_of(lookup, graph.cut)
    for i in range(len(_WINDOWS)):
        begins[i] = begin_of(graph, lookup, int(cut - _WINDOWS[i] * per_unit))
    return begins


@jit
def _since(graph: Graph, lookup: TimeLookup, time: int, per_unit: float) -> float:
    """How many units before the cut a time of the graph is."""
    return (activity_time_of(lookup, graph.cut) - activity_time_of(lookup, time)) / per_unit


@jit
def _fill_node(
    graph: Graph,
    timeline: Timeline,
    node: int,
    per_unit: float,
    begins: NDArray[np.int64],
    row: NDArray[np.float64],
) -> None:
    start, stop = timeline.offset[node], timeline.offset[node + 1]
    slots = visible_slots(graph, node)
    row[0], row[1] = stop - start, slots[1] - slots[0]
    row[2] = (graph.cut - timeline.time[start]) / per_unit if stop > start else np.nan
    row[3] = (graph.cut - timeline.time[stop - 1]) / per_unit if stop > start else np.nan
    for i in range(len(_WINDOWS)):
        row[4 + i] = stop - first_not_before(timeline.time, start, stop, begins[i])
    _fill_new(graph, slots, begins, row)


@jit
def _fill_new(graph: Graph, slots: tuple[int, int], begins: NDArray[np.int64], row: NDArray[np.float64]) -> None:
    for i in range(len(_WINDOWS)):
        # A node's slots are ordered by first event.
        new = slots[1] - first_not_before(graph.slot_first_time, slots[0], slots[1], begins[i])
        row[4 + len(_WINDOWS) + i] = new


@jit
def _fill_pair(
    graph: Graph,
    lookup: TimeLookup,
    src: int,
    dst: int,
    per_unit: float,
    begins: NDArray[np.int64],
    row: NDArray[np.float64],
) -> int:
    """Fill the pair's own columns. Returns the time of its last event, or the cut if it has none."""
    earliest, latest = graph.cut, graph.cut
    row[1] = row[2] = np.nan
    for a, b in ((src, dst), (dst, src)):
        first, stop = _events_between(graph, a, b)
        if stop == first:
            continue
        earliest = min(earliest, graph.event_time[first])
        latest = graph.event_time[stop - 1] if row[0] == 0 else max(latest, graph.event_time[stop - 1])
        row[0] += stop - first
        for i in range(len(_WINDOWS)):
            row[3 + i] += stop - first_not_before(graph.event_time, first, stop, begins[i])
    if row[0] > 0:
        row[1] = _since(graph, lookup, earliest, per_unit)
        row[2] = _since(graph, lookup, latest, per_unit)
    return latest


@jit
def _fill_paths(
    graph: Graph,
    lookup: TimeLookup,
    src: int,
    dst: int,
    per_unit: float,
    known: NDArray[np.int64],
    number: NDArray[np.int64],
    row: NDArray[np.float64],
) -> None:
    """Fill the path columns.

    Args:
        known: A table of the recent neighbours of src, for up to ten thousand tests whether somebody is one of them:
            scratch memory that is in the processor's cache whatever the size of the graph.
        number: The number of each, from 1; 0 for src and dst, which are no one's way.
    """
    start, stop = _recent_slots(graph, src)
    recency = _know_neighbours(graph, lookup, start, stop, per_unit, known, number)
    for end in (src, dst):
        place = _place_of(known, end)
        if known[place] == end:
            number[place] = 0
    others, paths_of_2, paths_of_3, walks, at_once, onward = 0, 0, 0, 0.0, 0.0, 0.0
    first, end = _recent_slots(graph, dst)
    for dst_slot in range(first, end):
        w = graph.slot_neighbour[dst_slot]
        if w in (src, dst):
            continue
        others += 1
        paths_of_2 += _number_of(known, number, w) > 0
        found, met = 0, activity_time_of(lookup, graph.slot_first_time[dst_slot])
        begin, finish = _recent_slots(graph, w)
        for slot in range(begin, finish):
            x = _number_of(known, number, graph.slot_neighbour[slot])
            if x > 0:
                found += 1
                later = (met - activity_time_of(lookup, graph.slot_first_time[slot])) / per_unit
                at_once += np.exp(-abs(later))
                onward += np.exp(-later) * recency[x] if later >= 0 else 0.0
        paths_of_3 += found
        walks += found / (finish - begin)
    row[0], row[1], row[3] = paths_of_2, paths_of_3, at_once
    if others > 0:
        row[2], row[4] = walks / others, onward / others


@jit
def _know_neighbours(
    graph: Graph,
    lookup: TimeLookup,
    start: int,
    stop: int,
    per_unit: float,
    known: NDArray[np.int64],
    number: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Give the neighbours in a node's slots the numbers 1, 2, ..; returns the recency of each, by number.

    Recency is exp(-t), with t the time between the last event with this neighbour and the node's last event with any.
    """
    last_time = np.zeros(stop - start + 1)
    known[:] = -1
    for slot in range(start, stop):
        _, end = visible_events(graph, graph.slot_edge[slot])
        place = _place_of(known, graph.slot_neighbour[slot])
        known[place], number[place] = graph.slot_neighbour[slot], slot - start + 1
        last_time[slot - start + 1] = activity_time_of(lookup, graph.event_time[end - 1])
    latest = last_time[1:].max() if stop > start else 0.0
    return np.exp((last_time - latest) / per_unit)


@jit
def _place_of(known: NDArray[np.int64], node: int) -> int:
    """Where a node is in the table, or would be put."""
    place = ((node * 2654435761) >> 15) & (_PLACES - 1)
    while known[place] >= 0 and known[place] != node:
        place = (place + 1) & (_PLACES - 1)
    return place


@jit
def _number_of(known: NDArray[np.int64], number: NDArray[np.int64], node: int) -> int:
    """The number of a node, or 0 if it has none."""
    place = _place_of(known, node)
    return number[place] if known[place] == node else 0


@jit
def _recent_slots(graph: Graph, node: int) -> tuple[int, int]:
    """The slots of a node's most recent neighbours, by first event."""
    start, stop = visible_slots(graph, node)
    return max(start, stop - _MAX_NEIGHBOURS), stop


@jit
def _time_since_last_event(graph: Graph, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.float64]:
    since = np.full(len(src), np.inf)
    for i in range(len(src)):
        for a, b in ((src[i], dst[i]), (dst[i], src[i])):
            first, stop = _events_between(graph, a, b)
            if stop > first:
                since[i] = min(since[i], np.float64(graph.cut - graph.event_time[stop - 1]))
    return since


@jit
def _events_between(graph: Graph, a: int, b: int) -> tuple[int, int]:
    """The range of events before the cut on the edge (a, b), in this order; empty if there is no such edge."""
    edge = edge_between(graph, a, b) if a != b else -1
    if edge < 0:
        return 0, 0
    return visible_events(graph, edge)
