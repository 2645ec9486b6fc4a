"""Activity time: time measured in events of the whole graph instead of seconds.

The activity time of an instant is the number of events of the graph before it. Where activity fades or grows, clock
time does not travel: "silent for a week" means gone in the busy first month and nothing at all a year later. "Silent
while the graph had a thousand events" means the same in both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit
from gtea.store.graph import Graph, graph_of
from gtea.store.view import View


def activity_graph(view: View) -> Graph:
    """The graph of a view in which all times, and the cut, are activity times.

    Events at or after the cut have the time of the cut, so they stay invisible. The order of events is kept.
    """
    graph = graph_of(view)
    order = np.argsort(graph.event_time, kind="stable")
    times, cut = _activity_times(graph.event_time, order, graph.cut)
    first, last = times[graph.edge_offset[:-1]], times[graph.edge_offset[1:] - 1]
    slots = first[graph.slot_edge]
    for array in (times, first, last, slots):
        # Compiled code is compiled anew for arrays that can be written.
        array.flags.writeable = False
    return graph._replace(cut=cut, event_time=times, edge_first_time=first, edge_last_time=last, slot_first_time=slots)


@jit
def _activity_times(times: NDArray[np.int64], order: NDArray[np.int64], cut: int) -> tuple[NDArray[np.int64], int]:
    """The number of events before each event, and the number before the cut. Events at the same time get the same."""
    counts = np.empty(len(times), dtype=np.int64)
    before, seen = 0, 0
    for place in range(len(order)):
        time = times[order[place]]
        if place == 0 or time > times[order[place - 1]]:
            before = seen
        counts[order[place]] = before
        seen += time < cut
    return counts, seen
