"""Plain statistics of pairs as of a cut: what the two did together, what each does, and whom they have in common.

Counts, recencies and the activity of the last 1, 3 and 7 units of the model's time (days; a power of ten for counters).
What never happened is NaN where it would be a time, and 0 where it is a count. In a directed store a pair's events are
those of both directions. The cost of a row doesn't depend on degrees: it is a few binary searches, and of each
account the last hundred acquaintances are looked at for what two have in common.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gtea.jit import jit
from gtea.sampling.graph import Graph, edge_between, first_not_before, graph_of, visible_events, visible_slots
from gtea.sampling.timeline import Timeline, timeline_of
from gtea.store.view import View

_WINDOWS = (1, 3, 7)
_LAST = tuple(f"last_{window}" for window in _WINDOWS)
_OF_NODE = ("count", "partners", "since_first", "since_last", *_LAST)
_OF_PAIR = ("count", "since_first", "since_last", *_LAST)
_ACQUAINTANCES = 100

PAIR_STATISTICS = (
    *(f"src_{name}" for name in _OF_NODE),
    *(f"dst_{name}" for name in _OF_NODE),
    *(f"pair_{name}" for name in _OF_PAIR),
    "src_events_since_pair",
    "paths_of_2",
    "paths_of_3",
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
    mark = np.zeros(len(graph.node_offset) - 1, dtype=np.uint8)
    for i in range(len(src)):
        _of_node(graph, timeline, src[i], per_unit, rows[i, :of_node])
        _of_node(graph, timeline, dst[i], per_unit, rows[i, of_node : 2 * of_node])
        last = _of_pair(graph, src[i], dst[i], per_unit, rows[i, 2 * of_node : 2 * of_node + of_pair])
        stop = timeline.offset[src[i] + 1]
        after = first_not_before(timeline.time, timeline.offset[src[i]], stop, last + 1)
        rows[i, width - 3] = stop - after if rows[i, 2 * of_node] > 0 else np.nan
        rows[i, width - 2], rows[i, width - 1] = _paths(graph, src[i], dst[i], mark)
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
def _paths(graph: Graph, src: int, dst: int, mark: NDArray[np.uint8]) -> tuple[int, int]:
    """How many paths of two and of three edges lead from one to the other, not through either of them.

    Args:
        mark: A zero for each node, and left so. Up to ten thousand nodes are asked whether the source knows them.
    """
    known = _acquaintances(graph, src)
    for node in known:
        mark[node] = 1
    mark[src] = mark[dst] = 0
    twos, threes = 0, 0
    for w in _acquaintances(graph, dst):
        if w in (src, dst):
            continue
        twos += mark[w]
        for x in _acquaintances(graph, w):
            threes += mark[x]
    for node in known:
        mark[node] = 0
    return twos, threes


@jit
def _acquaintances(graph: Graph, node: int) -> NDArray[np.int32]:
    """The neighbours that a node met last."""
    start, stop = visible_slots(graph, node)
    return graph.slot_neighbour[max(start, stop - _ACQUAINTANCES) : stop]

