"""A store as of a cut: the one position that hides the future.

A view is a store and a cut; nothing is copied to make one. The first view of a store checks that its indices are in
bounds, so compiled code that reads a view can't leave its arrays.

A node's slots are ordered by first event and an edge's events by time, so what lies before the cut is a prefix of each,
found by binary search. Anything computed from a view alone can't depend on events at or after its cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gtea.store.store import Store, StoreArrays

Node = int | str
"""A node number, or an account id."""


@dataclass(frozen=True)
class Neighbours:
    """The edges of a node that have an event before the cut, ordered by their first events."""

    nodes: NDArray[np.int32]
    edges: NDArray[np.int64]
    first_time: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True)
class History:
    """An edge's events before the cut, in time order, as seen from one of its ends."""

    time: NDArray[np.int64]
    sent: NDArray[np.bool_]
    """Whether that end sent the event (True) or received it."""
    features: NDArray[np.float32]
    categories: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class View:
    """A store without the events at or after ``cut``."""

    store: Store
    cut: int

    def __post_init__(self) -> None:
        self.store.require_bounds()

    def __repr__(self) -> str:
        return f"<gtea.View of {self.store.path.name} as of {self.store.date(self.cut)}>"

    @property
    def arrays(self) -> StoreArrays:
        """The mapped arrays. Callers must stay within ``slot_ranges`` and ``event_ranges``."""
        return self.store.arrays

    def degree(self, node: Node) -> int:
        """Number of neighbours of a node before the cut."""
        start, stop = self._slots(self._number(node))
        return stop - start

    def neighbours(self, node: Node) -> Neighbours:
        """A node's edges before the cut, as slices of the mapped arrays. Nothing is copied."""
        start, stop = self._slots(self._number(node))
        arrays = self.arrays
        return Neighbours(
            arrays.slot_neighbour[start:stop],
            arrays.slot_edge[start:stop],
            arrays.slot_first_time[start:stop],
        )

    def history(self, u: Node, v: Node) -> History:
        """The events between two nodes before the cut, as seen from ``u``. Empty if there are none.

        In a directed store, these are only the events from ``u`` to ``v``.
        """
        first, second = self._number(u), self._number(v)
        edge = self._find_edge(first, second)
        if edge < 0:
            return self._history(0, 0, sent_when=0)
        return self.history_of(edge, first)

    def history_of(self, edge: int, seen_from: Node) -> History:
        """The events of an edge before the cut, as seen from one of its ends."""
        start, stop = self.event_ranges(np.array([edge]))
        sent_when = 0 if self.arrays.edge_a[edge] == self._number(seen_from) else 1
        return self._history(int(start[0]), int(stop[0]), sent_when)

    def has_events(self, nodes: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Whether each node has an event before the cut."""
        start, stop = self.slot_ranges(nodes)
        return np.asarray(stop > start)

    def slot_ranges(self, nodes: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each node, the range of its slots whose edge has an event before the cut."""
        start, stop = self.arrays.node_offset[nodes], self.arrays.node_stop[nodes]
        return prefixes(self.arrays.slot_first_time, start, stop, self.cut)

    def event_ranges(self, edges: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each edge, the range of its events before the cut."""
        start, stop = self.arrays.edge_offset[edges], self.arrays.edge_stop[edges]
        unfinished = self.arrays.edge_last_time[edges] >= self.cut
        stop = np.array(stop)
        _, cut_off = prefixes(self.arrays.event_time, start[unfinished], stop[unfinished], self.cut)
        stop[unfinished] = cut_off
        return start, stop

    def _number(self, node: Node) -> int:
        return self.store.node(node) if isinstance(node, str) else int(node)

    def _slots(self, node: int) -> tuple[int, int]:
        start, end = int(self.arrays.node_offset[node]), int(self.arrays.node_stop[node])
        return start, start + int(np.searchsorted(self.arrays.slot_first_time[start:end], self.cut))

    def _find_edge(self, u: int, v: int) -> int:
        """The edge of a pair, or -1. A binary search: edges are ordered by (a, b)."""
        a, b = (u, v) if self.store.directed else (min(u, v), max(u, v))
        low, high = np.searchsorted(self.arrays.edge_a, [a, a + 1])
        position = int(low) + int(np.searchsorted(self.arrays.edge_b[low:high], b))
        return position if position < high and self.arrays.edge_b[position] == b else -1

    def _history(self, start: int, stop: int, sent_when: int) -> History:
        arrays = self.arrays
        return History(
            arrays.event_time[start:stop],
            arrays.event_reverse[start:stop] == sent_when,
            arrays.event_features[start:stop],
            arrays.event_categories[start:stop],
        )


def prefixes(
    values: NDArray[np.int64],
    start: NDArray[np.int64],
    stop: NDArray[np.int64],
    cut: int | NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The part of each sorted range of ``values`` that is below the cut, one cut for all or one for each.

    All binary searches run in lockstep.
    """
    low, high = np.array(start), np.array(stop)
    cuts = np.broadcast_to(np.asarray(cut), low.shape)
    open_ranges = np.flatnonzero(low < high)
    while len(open_ranges):
        middle = (low[open_ranges] + high[open_ranges]) // 2
        below = values[middle] < cuts[open_ranges]
        low[open_ranges[below]] = middle[below] + 1
        high[open_ranges[~below]] = middle[~below]
        open_ranges = open_ranges[low[open_ranges] < high[open_ranges]]
    return np.array(start), low
