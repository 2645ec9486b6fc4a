"""Plain statistics of pairs as of a cut: what the two did together, what each does, and whom they have in common.

Counts, recencies and the activity of the last 1, 3 and 7 units of the model's time (days; a power of ten for counters).
What never happened is NaN where it would be a time, and 0 where it is a count. In a directed store a pair's events are
those of both directions. The cost of a row doesn't depend on degrees: it is a few binary searches, and of each
account the last hundred acquaintances are looked at for what two have in common.

What leads from one to the other, through neither of them again, is told in five ways: how many paths of two edges
there are, and of the paths src - x - w - dst how many there are; their share among all walks that begin at dst; how
many there are if one counts for less the longer w took between x and dst; and how many there are in the direction of
time, from whom src met last: those who knew x went on to dst (decision 18).
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
_OF_NODE = ("count", "partners", "since_first", "since_last", *_LAST, *_NEW)
_OF_PAIR = ("count", "since_first", "since_last", *_LAST)
_OF_PATHS = ("paths_of_2", "paths_of_3", "walks_of_3", "paths_of_3_at_once", "paths_of_3_onward")
_ACQUAINTANCES = 100

PAIR_STATISTICS = (
    *(f"src_{name}" for name in _OF_NODE),
    *(f"dst_{name}" for name in _OF_NODE),
    *(f"pair_{name}" for name in _OF_PAIR),
    "src_events_since_pair",
    *_OF_PATHS,
)
"""The names of the columns."""


class PairStatistics:
    """The statistics of pairs of one view."""

    def __init__(self, view: View, per_unit: float) -> None:
        """Build the index.

        Args:
            per_unit: How many stored times make one unit of the model's time.
        """
        self._graph = graph_of(view)
        self._timeline = timeline_of(self._graph)
        self._per_unit = per_unit

    def rows(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.float64]:
        """One row for each pair; the columns are ``PAIR_STATISTICS``."""
        return _rows(self._graph, self._timeline, src, dst, self._per_unit, len(PAIR_STATISTICS))


def since_together(view: View, src: NDArray[np.int64], dst: NDArray[np.int64], per_unit: float) -> NDArray[np.float64]:
    """How long before the cut each pair's last event was; infinite if there is none."""
    return _since_together(graph_of(view), src, dst) / per_unit


@jit
def _since_together(graph: Graph, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.float64]:
    since = np.full(len(src), np.inf)
    for i in range(len(src)):
        for a, b in ((src[i], dst[i]), (dst[i], src[i])):
            first, stop = _events_between(graph, a, b)
            if stop > first:
                since[i] = min(since[i], np.float64(graph.cut - graph.event_time[stop - 1]))
    return since


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
    of_node, of_pair = len(_OF_NODE), len(_OF_PAIR)
    pair, since = 2 * of_node, 2 * of_node + of_pair
    mark = np.zeros(len(graph.node_offset) - 1, dtype=np.uint8)
    for i in range(len(src)):
        _of_node(graph, timeline, src[i], per_unit, rows[i, :of_node])
        _of_node(graph, timeline, dst[i], per_unit, rows[i, of_node:pair])
        last = _of_pair(graph, src[i], dst[i], per_unit, rows[i, pair:since])
        stop = timeline.offset[src[i] + 1]
        after = first_not_before(timeline.time, timeline.offset[src[i]], stop, last + 1)
        rows[i, since] = stop - after if rows[i, pair] > 0 else np.nan
        _of_paths(graph, src[i], dst[i], per_unit, mark, rows[i, since + 1 :])
    return rows


@jit
def _of_node(graph: Graph, timeline: Timeline, node: int, per_unit: float, row: NDArray[np.float64]) -> None:
    start, stop = timeline.offset[node], timeline.offset[node + 1]
    slots = visible_slots(graph, node)
    row[0], row[1] = stop - start, slots[1] - slots[0]
    row[2] = (graph.cut - timeline.time[start]) / per_unit if stop > start else np.nan
    row[3] = (graph.cut - timeline.time[stop - 1]) / per_unit if stop > start else np.nan
    for i in range(len(_WINDOWS)):
        begin = int(graph.cut - _WINDOWS[i] * per_unit)
        row[4 + i] = stop - first_not_before(timeline.time, start, stop, begin)
        # A node's slots are in the order of their first events.
        row[4 + len(_WINDOWS) + i] = slots[1] - first_not_before(graph.slot_first_time, slots[0], slots[1], begin)


@jit
def _of_pair(graph: Graph, src: int, dst: int, per_unit: float, row: NDArray[np.float64]) -> int:
    """Fill a pair's own columns; returns the time of its last event, if it has one."""
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
def _events_between(graph: Graph, a: int, b: int) -> tuple[int, int]:
    """The range of the events before the cut of the edge with these ends in this order; empty if there is none."""
    edge = edge_between(graph, a, b) if a != b else -1
    if edge < 0:
        return 0, 0
    return visible_events(graph, edge)


@jit
def _of_paths(
    graph: Graph, src: int, dst: int, per_unit: float, mark: NDArray[np.uint8], row: NDArray[np.float64]
) -> None:
    """Fill the columns of what leads from one to the other.

    Args:
        mark: A zero for each node, and left so. Up to ten thousand nodes are asked whether the source knows them, and
            an acquaintance's number fits into a byte.
    """
    start, stop = _last_slots(graph, src)
    freshness = _mark_acquaintances(graph, start, stop, per_unit, mark)
    mark[src] = mark[dst] = 0
    others, twos, threes, walks, at_once, onward = 0, 0, 0, 0.0, 0.0, 0.0
    first, end = _last_slots(graph, dst)
    for way in range(first, end):
        w = graph.slot_neighbour[way]
        if w in (src, dst):
            continue
        others += 1
        twos += mark[w] > 0
        found = 0
        begin, finish = _last_slots(graph, w)
        for slot in range(begin, finish):
            x = mark[graph.slot_neighbour[slot]]
            if x > 0:
                found += 1
                later = (graph.slot_first_time[way] - graph.slot_first_time[slot]) / per_unit
                at_once += np.exp(-abs(later))
                onward += np.exp(-later) * freshness[x] if later >= 0 else 0.0
        threes += found
        walks += found / (finish - begin)
    row[0], row[1], row[3] = twos, threes, at_once
    if others > 0:
        row[2], row[4] = walks / others, onward / others
    for slot in range(start, stop):
        mark[graph.slot_neighbour[slot]] = 0


@jit
def _mark_acquaintances(
    graph: Graph, start: int, stop: int, per_unit: float, mark: NDArray[np.uint8]
) -> NDArray[np.float64]:
    """Give the neighbours in some slots of a node numbers from 1; returns, by number, how freshly each was met.

    That is 1 for whom the node met last, and less by a factor e for each unit of time that a meeting lies before it.
    """
    freshness = np.zeros(stop - start + 1)
    for slot in range(start, stop):
        _, end = visible_events(graph, graph.slot_edge[slot])
        mark[graph.slot_neighbour[slot]] = slot - start + 1
        freshness[slot - start + 1] = graph.event_time[end - 1]
    latest = freshness[1:].max() if stop > start else 0.0
    return np.exp((freshness - latest) / per_unit)


@jit
def _last_slots(graph: Graph, node: int) -> tuple[int, int]:
    """The slots of the neighbours that a node met last."""
    start, stop = visible_slots(graph, node)
    return max(start, stop - _ACQUAINTANCES), stop
