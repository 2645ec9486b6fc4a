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
"""How many recent neighbours of an account are searched for paths. Their numbers must fit into a byte."""

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
        return _rows(self._graph, self._timeline, src, dst, self._per_unit, len(PAIR_STATISTICS))


def time_since_last_event(
    view: View, src: NDArray[np.int64], dst: NDArray[np.int64], per_unit: float
) -> NDArray[np.float64]:
    """The time from each pair's last event to the cut; infinite if the pair has no events."""
    return _time_since_last_event(graph_of(view), src, dst) / per_unit


@jit
def _rows(
    graph: Graph,
    timeline: Timeline,
    src: NDArray[np.int64],
    dst: NDArray[np.int64],
    per_unit: float,
    width: int,
) -> NDArray[np.float64]:
    rows = np.zeros((len(src), width))
    num_node, num_pair = len(_NODE_COLUMNS), len(_PAIR_COLUMNS)
    pair, since = 2 * num_node, 2 * num_node + num_pair
    mark = np.zeros(len(graph.node_offset) - 1, dtype=np.uint8)
    for i in range(len(src)):
        _fill_node(graph, timeline, src[i], per_unit, rows[i, :num_node])
        _fill_node(graph, timeline, dst[i], per_unit, rows[i, num_node:pair])
        last = _fill_pair(graph, src[i], dst[i], per_unit, rows[i, pair:since])
        stop = timeline.offset[src[i] + 1]
        after = first_not_before(timeline.time, timeline.offset[src[i]], stop, last + 1)
        rows[i, since] = stop - after if rows[i, pair] > 0 else np.nan
        _fill_paths(graph, src[i], dst[i], per_unit, mark, rows[i, since + 1 :])
    return rows


@jit
def _fill_node(graph: Graph, timeline: Timeline, node: int, per_unit: float, row: NDArray[np.float64]) -> None:
    start, stop = timeline.offset[node], timeline.offset[node + 1]
    slots = visible_slots(graph, node)
    row[0], row[1] = stop - start, slots[1] - slots[0]
    row[2] = (graph.cut - timeline.time[start]) / per_unit if stop > start else np.nan
    row[3] = (graph.cut - timeline.time[stop - 1]) / per_unit if stop > start else np.nan
    for i in range(len(_WINDOWS)):
        begin = int(graph.cut - _WINDOWS[i] * per_unit)
        row[4 + i] = stop - first_not_before(timeline.time, start, stop, begin)
        # A node's slots are ordered by first event.
        row[4 + len(_WINDOWS) + i] = slots[1] - first_not_before(graph.slot_first_time, slots[0], slots[1], begin)


@jit
def _fill_pair(graph: Graph, src: int, dst: int, per_unit: float, row: NDArray[np.float64]) -> int:
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
        row[1], row[2] = (graph.cut - earliest) / per_unit, (graph.cut - latest) / per_unit
        for i in range(len(_WINDOWS)):
            begin = int(graph.cut - _WINDOWS[i] * per_unit)
            row[3 + i] += stop - first_not_before(graph.event_time, first, stop, begin)
    return latest


@jit
def _fill_paths(
    graph: Graph, src: int, dst: int, per_unit: float, mark: NDArray[np.uint8], row: NDArray[np.float64]
) -> None:
    """Fill the path columns.

    Args:
        mark: Scratch memory, one byte per node: zero on entry and on return. It makes the up to ten thousand tests
            "is this a recent neighbour of src?" cheap.
    """
    start, stop = _recent_slots(graph, src)
    recency = _mark_neighbours(graph, start, stop, per_unit, mark)
    mark[src] = mark[dst] = 0
    others, paths_of_2, paths_of_3, walks, at_once, onward = 0, 0, 0, 0.0, 0.0, 0.0
    first, end = _recent_slots(graph, dst)
    for dst_slot in range(first, end):
        w = graph.slot_neighbour[dst_slot]
        if w in (src, dst):
            continue
        others += 1
        paths_of_2 += mark[w] > 0
        found = 0
        begin, finish = _recent_slots(graph, w)
        for slot in range(begin, finish):
            x = mark[graph.slot_neighbour[slot]]
            if x > 0:
                found += 1
                later = (graph.slot_first_time[dst_slot] - graph.slot_first_time[slot]) / per_unit
                at_once += np.exp(-abs(later))
                onward += np.exp(-later) * recency[x] if later >= 0 else 0.0
        paths_of_3 += found
        walks += found / (finish - begin)
    row[0], row[1], row[3] = paths_of_2, paths_of_3, at_once
    if others > 0:
        row[2], row[4] = walks / others, onward / others
    for slot in range(start, stop):
        mark[graph.slot_neighbour[slot]] = 0


@jit
def _mark_neighbours(
    graph: Graph, start: int, stop: int, per_unit: float, mark: NDArray[np.uint8]
) -> NDArray[np.float64]:
    """Mark the neighbours in a node's slots with the numbers 1, 2, ..; returns the recency of each, by number.

    Recency is exp(-t), with t the time between the last event with this neighbour and the node's last event with any.
    """
    last_time = np.zeros(stop - start + 1)
    for slot in range(start, stop):
        _, end = visible_events(graph, graph.slot_edge[slot])
        mark[graph.slot_neighbour[slot]] = slot - start + 1
        last_time[slot - start + 1] = graph.event_time[end - 1]
    latest = last_time[1:].max() if stop > start else 0.0
    return np.exp((last_time - latest) / per_unit)


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
