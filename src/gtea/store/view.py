"""A store as of a time: the one place where the future is cut off.

A view holds a cut and nothing else; nothing is copied to make one. Every access finds by binary search how far
it may look: a node's slots are ordered by first event, an edge's events by time, so what lies before the cut is
a prefix of each. Whatever is made from a view alone can't know anything at or after its cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gtea.store.store import Store, StoreArrays

Node = int | str
"""A node by its number, or an account by its id."""


@dataclass(frozen=True)
class Neighbours:
    """The edges of a node that have an event before the cut, in the order of their first events."""

    nodes: NDArray[np.int32]
    edges: NDArray[np.int64]
    first_time: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True)
class History:
    """An edge's events before the cut, in time order, as one of its ends sees them."""

    time: NDArray[np.int64]
    sent: NDArray[np.bool_]
    """Whether the end that looks sent (True) or received."""
    features: NDArray[np.float32]
    categories: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class View:
    """A store in which nothing has happened at or after ``cut``."""

    store: Store
    cut: int

    def __repr__(self) -> str:
        return f"<gtea.View of {self.store.path.name} as of {self.store.date(self.cut)}>"

    @property
    def arrays(self) -> StoreArrays:
        """The mapped arrays, for compiled code that keeps within ``slot_ranges`` and ``event_ranges``."""
        return self.store.arrays

    def degree(self, node: Node) -> int:
        """How many neighbours a node has before the cut."""
        start, stop = self._slots(self._number(node))
        return stop - start

    def neighbours(self, node: Node) -> Neighbours:
        """A node's edges before the cut: slices of the mapped arrays, so a hub costs what its slice costs."""
        start, stop = self._slots(self._number(node))
        arrays = self.arrays
        return Neighbours(
            arrays.slot_neighbour[start:stop],
            arrays.slot_edge[start:stop],
            arrays.slot_first_time[start:stop],
        )

    def history(self, u: Node, v: Node) -> History:
        """The events between two nodes before the cut, as ``u`` sees them; empty if there are none.

        In a directed store these are the events from ``u`` to ``v`` only.
        """
        first, second = self._number(u), self._number(v)
        edge = self._find_edge(first, second)
        if edge < 0:
            return self._history(0, 0, sent_when=0)
        return self.history_of(edge, first)

    def history_of(self, edge: int, seen_from: Node) -> History:
        """The events of an edge before the cut, as one of its ends sees them."""
        start, stop = self.event_ranges(np.array([edge]))
        sent_when = 0 if self.arrays.edge_a[edge] == self._number(seen_from) else 1
        return self._history(int(start[0]), int(stop[0]), sent_when)

    def has_events(self, nodes: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Whether each node has an event before the cut."""
        start, stop = self.slot_ranges(nodes)
        return np.asarray(stop > start)

    def slot_ranges(self, nodes: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each node, the range of its slots whose edge has an event before the cut."""
        offset = self.arrays.node_offset
        return prefixes(self.arrays.slot_first_time, offset[nodes], offset[nodes + 1], self.cut)

    def event_ranges(self, edges: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each edge, the range of its events before the cut."""
        start, stop = self.arrays.edge_offset[edges], self.arrays.edge_offset[edges + 1]
        unfinished = self.arrays.edge_last_time[edges] >= self.cut
        stop = np.array(stop)
        _, cut_off = prefixes(self.arrays.event_time, start[unfinished], stop[unfinished], self.cut)
        stop[unfinished] = cut_off
        return start, stop

    def _number(self, node: Node) -> int:
        return self.store.node(node) if isinstance(node, str) else int(node)

    def _slots(self, node: int) -> tuple[int, int]:
        start, end = (int(offset) for offset in self.arrays.node_offset[node : node + 2])
        return start, start + int(np.searchsorted(self.arrays.slot_first_time[start:end], self.cut))

    def _find_edge(self, u: int, v: int) -> int:
        """The edge of a pair, or -1: edges are ordered by (a, b)."""
        a, b = (u, v) if self.store.directed else (min(u, v), max(u, v))
        low, high = np.searchsorted(self.arrays.edge_a, [a, a + 1])
        place = int(low) + int(np.searchsorted(self.arrays.edge_b[low:high], b))
        return place if place < high and self.arrays.edge_b[place] == b else -1

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
    """Within each ordered range of ``values``, the part below the (or its own) cut. All binary searches go in step."""
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
