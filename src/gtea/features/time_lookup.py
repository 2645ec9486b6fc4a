"""Activity times of some instants, looked up: for who reads a few of the times of a graph, and can't hold all of them.

``gtea.features.activity_time`` gives each event of a graph its activity time: an array as long as all events. The same
number is found in a table of the distinct times of events, which may be in a file, by a binary search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit
from gtea.store.graph import Graph, first_not_before


class TimeLookup(NamedTuple):
    """The distinct times of the events before a cut, ascending."""

    time: NDArray[np.int64]
    before: NDArray[np.int64]
    """How many events there are before each."""
    total: int
    """How many there are in all; -1 if times stand for themselves."""


def as_they_are() -> TimeLookup:
    """Times stand for themselves: those of a graph that are activity times already, or meant to be clock times."""
    return TimeLookup(_read_only(np.empty(0, dtype=np.int64)), _read_only(np.empty(0, dtype=np.int64)), -1)


def lookup_of(time: NDArray[np.int64], before: NDArray[np.int64], total: int) -> TimeLookup:
    """The table, as compiled code reads it."""
    return TimeLookup(_read_only(time), _read_only(before), total)


@jit
def activity_time_of(lookup: TimeLookup, time: int) -> int:
    """The activity time of an instant: how many events are before it."""
    if lookup.total < 0:
        return time
    place = first_not_before(lookup.time, 0, len(lookup.time), time)
    return lookup.before[place] if place < len(lookup.time) else lookup.total


@jit
def begin_of(graph: Graph, lookup: TimeLookup, activity_time: int) -> int:
    """The earliest time of an event, in the times of the graph, that is at or after an activity time; else the cut."""
    if lookup.total < 0:
        return activity_time
    place = first_not_before(lookup.before, 0, len(lookup.before), activity_time)
    return lookup.time[place] if place < len(lookup.time) else graph.cut


def _read_only(array: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compiled code is compiled anew for arrays that can be written."""
    sealed = array.view(np.ndarray)
    sealed.flags.writeable = False
    return sealed
