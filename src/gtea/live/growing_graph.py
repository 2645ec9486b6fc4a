"""A store's graph in memory, to which events are added one after the other.

The arrays are those of the store (``gtea.store.graph``), with room between the slots of one node and the next and
between the events of one edge and the next. What has no room left moves to the end of the arrays and gets twice as
much. Everything stays in the order that ``append`` would give it: an edge's events by time and then by arrival, a
node's slots by first event and then by the accounts of the edge. So compiled code reads a growing graph as it reads a
store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.live.growing_array import GrowingArray
from gtea.runtime.jit import jit
from gtea.store.graph import Graph
from gtea.store.store import StoreArrays

_NODES = ("node_offset", "node_stop", "node_room")
_SLOTS = ("slot_neighbour", "slot_edge", "slot_first_time")
_EDGES = ("edge_a", "edge_b", "edge_offset", "edge_stop", "edge_room", "edge_first_time", "edge_last_time")
_EVENTS = ("event_time", "event_reverse", "event_features", "event_categories")
_EMPTY = -1
_SPARE = 4
"""What has no room left gets room for twice as many, and this many more."""


class NewEvents(NamedTuple):
    """Events to add, in the order of arrival."""

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    time: NDArray[np.int64]
    features: NDArray[np.float32]
    categories: NDArray[np.int32]


class Added(NamedTuple):
    """What became of new events."""

    edge: NDArray[np.int64]
    """The edge of each."""
    late: NDArray[np.bool_]
    """Whether the edge had an event after it already."""


class _Growing(NamedTuple):
    """The arrays for compiled code that writes to them, with all the room that is reserved."""

    node_offset: NDArray[np.int64]
    node_stop: NDArray[np.int64]
    node_room: NDArray[np.int64]
    """Where the room of each node ends."""
    slot_neighbour: NDArray[np.int32]
    slot_edge: NDArray[np.int64]
    slot_first_time: NDArray[np.int64]
    edge_a: NDArray[np.int32]
    edge_b: NDArray[np.int32]
    edge_offset: NDArray[np.int64]
    edge_stop: NDArray[np.int64]
    edge_room: NDArray[np.int64]
    """Where the room of each edge ends."""
    edge_first_time: NDArray[np.int64]
    edge_last_time: NDArray[np.int64]
    event_time: NDArray[np.int64]
    event_reverse: NDArray[np.uint8]
    event_features: NDArray[np.float32]
    event_categories: NDArray[np.int32]
    used: NDArray[np.int64]
    """How many edges, slots and events are in use, room that belongs to a node or an edge included."""
    num_sorted: int
    """The edges of the store, which are ordered by their ends."""
    table: NDArray[np.int64]
    """A hash table of the other edges. Its size is a power of two."""


class GrowingGraph:
    """The arrays, and how events are added to them."""

    def __init__(self, arrays: StoreArrays, saved: Mapping[str, NDArray[Any]] | None = None, *, directed: bool) -> None:
        """Take the arrays of a store, or what ``arrays`` gave of its graph later; a ValueError if it is none."""
        self.directed = directed
        found = _of_store(arrays)
        if saved is not None:
            kinds = {name: (array.dtype, array.ndim, array.shape[1:]) for name, array in found.items()}
            if any((saved[name].dtype, saved[name].ndim, saved[name].shape[1:]) != kinds[name] for name in kinds):
                raise ValueError("its arrays are of other types")
            found = {name: saved[name] for name in kinds}
        self._num_sorted = int(found["num_sorted"][0])
        self._arrays = {name: GrowingArray(found[name]) for name in (*_NODES, *_SLOTS, *_EDGES, *_EVENTS)}
        self._table = self._new_table()

    @property
    def num_nodes(self) -> int:
        """The number of accounts."""
        return len(self._arrays["node_stop"])

    @property
    def num_edges(self) -> int:
        """The number of edges."""
        return len(self._arrays["edge_a"])

    @property
    def num_bytes(self) -> int:
        """What the arrays take."""
        return sum(array.num_bytes for array in self._arrays.values()) + self._table.nbytes

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that makes the graph, to be saved."""
        return {name: array.sealed for name, array in self._arrays.items()} | {
            "num_sorted": np.array([self._num_sorted])
        }

    def require_bounds(self, num_words: Sequence[int]) -> None:
        """Raise a ValueError if an index points outside: compiled code does not look.

        Args:
            num_words: Of each categorical column.
        """
        rows = {name: array.rows for name, array in self._arrays.items()}
        limits = dict.fromkeys(("slot_neighbour", "edge_a", "edge_b"), self.num_nodes)
        limits |= {"slot_edge": self.num_edges}
        fits = [np.all((rows[name] >= 0) & (rows[name] < most)) for name, most in limits.items()]
        for kind, last in (("node", "slot_edge"), ("edge", "event_time")):
            ends: list[Any] = [0, *(rows[f"{kind}_{end}"] for end in ("offset", "stop", "room")), len(rows[last])]
            fits += [np.all(low <= high) for low, high in pairwise(ends)]
        fits += [
            np.all(np.diff([len(rows[name]) for name in names]) == 0) for names in (_NODES, _SLOTS, _EDGES, _EVENTS)
        ]
        codes = rows["event_categories"]
        fits += [np.all((codes[:, i] >= 0) & (codes[:, i] < most)) for i, most in enumerate(num_words)]
        if not all(fits) or not 0 <= self._num_sorted <= self.num_edges:
            raise ValueError("its graph is damaged")

    def graph(self, cut: int) -> Graph:
        """The graph as of a cut, for compiled code. To be asked for again when events have been added."""
        return Graph(cut, *(self._arrays[name].sealed for name in Graph._fields[1:]))

    def add_nodes(self, num_nodes: int) -> None:
        """Have that many nodes in all; new ones have no slots."""
        for name in _NODES:
            self._arrays[name].grow(num_nodes)

    def rescale(self, factor: int) -> None:
        """Count all times in a unit that is finer by this factor."""
        for name in ("slot_first_time", "edge_first_time", "edge_last_time", "event_time"):
            self._arrays[name].rows[:] *= factor

    def add(self, events: NewEvents, rank: NDArray[np.int64]) -> Added:
        """Add events between nodes that are there.

        Args:
            rank: The place of each node in the canonical order.
        """
        added = Added(np.empty(len(events.src), dtype=np.int64), np.zeros(len(events.src), dtype=np.bool_))
        done = 0
        while True:
            growing = self._growing()
            done, slots, room = _add(growing, events, rank, self.directed, added, done)
            for names, length in zip((_EDGES, _SLOTS, _EVENTS), growing.used, strict=True):
                for name in names:
                    self._arrays[name].grow(int(length))
            if done == len(events.src):
                return added
            for names, length in zip((_EDGES, _SLOTS, _EVENTS), (1, slots, room), strict=True):
                for name in names:
                    self._arrays[name].reserve(len(self._arrays[name]) + length)
            if 2 * (self.num_edges + 1 - self._num_sorted) > len(self._table):
                self._table = self._new_table()

    def _growing(self) -> _Growing:
        arrays: list[Any] = [self._arrays[name].reserved for name in (*_NODES, *_SLOTS, *_EDGES, *_EVENTS)]
        used = np.array([len(self._arrays[name]) for name in ("edge_a", "slot_edge", "event_time")])
        return _Growing(*[*arrays, used, self._num_sorted, self._table])

    def _new_table(self) -> NDArray[np.int64]:
        count, size = self.num_edges - self._num_sorted, 1 << 10
        while size < 4 * (count + 1):
            size *= 2
        table = np.full(size, _EMPTY, dtype=np.int64)
        _fill_table(table, self._arrays["edge_a"].reserved, self._arrays["edge_b"].reserved, self._num_sorted, count)
        return table


def _of_store(arrays: StoreArrays) -> dict[str, NDArray[Any]]:
    found = {name: np.asarray(getattr(arrays, name)) for name in (*_SLOTS, *_EVENTS, *_EDGES) if "room" not in name}
    node_stop, edge_stop = np.asarray(arrays.node_stop), np.asarray(arrays.edge_stop)
    found |= {"node_offset": np.asarray(arrays.node_offset[:-1]), "node_stop": node_stop, "node_room": node_stop}
    found |= {"edge_offset": np.asarray(arrays.edge_offset[:-1]), "edge_room": edge_stop}
    return found | {"num_sorted": np.array([len(arrays.edge_a)])}


@jit
def _add(
    growing: _Growing, events: NewEvents, rank: NDArray[np.int64], directed: bool, added: Added, first: int
) -> tuple[int, int, int]:
    """Add events from ``first`` on. Stops at one that may need more room than is reserved.

    Returns:
        How many events are done, and how many more slots and events the next one may need.
    """
    for i in range(first, len(events.src)):
        src, dst = events.src[i], events.dst[i]
        a, b = (src, dst) if directed or rank[src] <= rank[dst] else (dst, src)
        edge = _find(growing, a, b)
        slots = 2 * (growing.node_stop[a] - growing.node_offset[a] + growing.node_stop[b] - growing.node_offset[b])
        room = 0 if edge == _EMPTY else 2 * (growing.edge_stop[edge] - growing.edge_offset[edge])
        slots, room = slots + 2 * _SPARE + 2, room + _SPARE + 1
        full = growing.used[1] + slots > len(growing.slot_edge) or growing.used[2] + room > len(growing.event_time)
        if edge == _EMPTY:
            full = full or growing.used[0] >= len(growing.edge_a)
            full = full or 2 * (growing.used[0] + 1 - growing.num_sorted) > len(growing.table)
        if full:
            return i, slots, room
        if edge == _EMPTY:
            edge = _new_edge(growing, a, b, events.time[i], rank)
        added.edge[i] = edge
        added.late[i] = _insert(growing, edge, events, i, 0 if src == a else 1)
        if events.time[i] < growing.edge_first_time[edge]:
            _move_slots(growing, edge, events.time[i], rank)
        growing.edge_last_time[edge] = max(growing.edge_last_time[edge], events.time[i])
    return len(events.src), 0, 0


@jit
def _hash(a: int, b: int, size: int) -> int:
    mixed = (np.uint64(a) << np.uint64(32) | np.uint64(b)) * np.uint64(0x9E3779B97F4A7C15)
    place: int = np.int64((mixed >> np.uint64(20)) & np.uint64(size - 1))  # type: ignore[assignment]
    return place


@jit
def _find(growing: _Growing, a: int, b: int) -> int:
    """The edge with these ends, or -1."""
    low, high = 0, growing.num_sorted
    while low < high:
        middle = (low + high) // 2
        if growing.edge_a[middle] < a or (growing.edge_a[middle] == a and growing.edge_b[middle] < b):
            low = middle + 1
        else:
            high = middle
    if low < growing.num_sorted and growing.edge_a[low] == a and growing.edge_b[low] == b:
        return low
    place = _hash(a, b, len(growing.table))
    while growing.table[place] != _EMPTY:
        edge: int = growing.table[place]
        if growing.edge_a[edge] == a and growing.edge_b[edge] == b:
            return edge
        place = (place + 1) & (len(growing.table) - 1)
    return _EMPTY


@jit
def _fill_table(
    table: NDArray[np.int64], edge_a: NDArray[np.int32], edge_b: NDArray[np.int32], first: int, count: int
) -> None:
    for edge in range(first, first + count):
        place = _hash(edge_a[edge], edge_b[edge], len(table))
        while table[place] != _EMPTY:
            place = (place + 1) & (len(table) - 1)
        table[place] = edge


@jit
def _new_edge(growing: _Growing, a: int, b: int, time: int, rank: NDArray[np.int64]) -> int:
    """An edge without events, with its slots."""
    edge: int = growing.used[0]
    growing.used[0] += 1
    growing.edge_a[edge], growing.edge_b[edge] = a, b
    growing.edge_offset[edge] = growing.edge_stop[edge] = growing.edge_room[edge] = growing.used[2]
    growing.edge_first_time[edge] = growing.edge_last_time[edge] = time
    place = _hash(a, b, len(growing.table))
    while growing.table[place] != _EMPTY:
        place = (place + 1) & (len(growing.table) - 1)
    growing.table[place] = edge
    _new_slot(growing, a, b, edge, rank)
    if a != b:
        _new_slot(growing, b, a, edge, rank)
    return edge


@jit
def _new_slot(growing: _Growing, node: int, neighbour: int, edge: int, rank: NDArray[np.int64]) -> None:
    if growing.node_stop[node] == growing.node_room[node]:
        start, length = growing.node_offset[node], growing.node_stop[node] - growing.node_offset[node]
        to = growing.used[1]
        growing.used[1] += 2 * length + _SPARE
        growing.slot_neighbour[to : to + length] = growing.slot_neighbour[start : start + length]
        growing.slot_edge[to : to + length] = growing.slot_edge[start : start + length]
        growing.slot_first_time[to : to + length] = growing.slot_first_time[start : start + length]
        growing.node_offset[node], growing.node_stop[node], growing.node_room[node] = to, to + length, growing.used[1]
    growing.node_stop[node] += 1
    _settle_slot(growing, node, growing.node_stop[node] - 1, neighbour, edge, rank)


@jit
def _settle_slot(growing: _Growing, node: int, slot: int, neighbour: int, edge: int, rank: NDArray[np.int64]) -> None:
    """Put a slot where it belongs among those before it. ``slot`` is a place that may be written to."""
    time = growing.edge_first_time[edge]
    while slot > growing.node_offset[node]:
        before = growing.slot_edge[slot - 1]
        before_time = growing.slot_first_time[slot - 1]
        if before_time < time or (before_time == time and _precedes(growing, before, edge, rank)):
            break
        growing.slot_neighbour[slot] = growing.slot_neighbour[slot - 1]
        growing.slot_edge[slot], growing.slot_first_time[slot] = before, before_time
        slot -= 1
    growing.slot_neighbour[slot], growing.slot_edge[slot], growing.slot_first_time[slot] = neighbour, edge, time


@jit
def _precedes(growing: _Growing, one: int, other: int, rank: NDArray[np.int64]) -> bool:
    """Whether an edge stands before another in a store."""
    first, second = rank[growing.edge_a[one]], rank[growing.edge_a[other]]
    return bool(first < second or (first == second and rank[growing.edge_b[one]] < rank[growing.edge_b[other]]))


@jit
def _move_slots(growing: _Growing, edge: int, time: int, rank: NDArray[np.int64]) -> None:
    """Give an edge an earlier first time, and its slots the place that goes with it."""
    growing.edge_first_time[edge] = time
    a, b = growing.edge_a[edge], growing.edge_b[edge]
    for node, neighbour in ((a, b), (b, a)):
        slot = growing.node_offset[node]
        while growing.slot_edge[slot] != edge:
            slot += 1
        _settle_slot(growing, node, slot, neighbour, edge, rank)


@jit
def _insert(growing: _Growing, edge: int, events: NewEvents, i: int, reverse: int) -> bool:
    """Insert an event after those that are not later. Returns whether there are any later ones."""
    if growing.edge_stop[edge] == growing.edge_room[edge]:
        start, length = growing.edge_offset[edge], growing.edge_stop[edge] - growing.edge_offset[edge]
        to = growing.used[2]
        growing.used[2] += 2 * length + (_SPARE if length else 1)
        growing.event_time[to : to + length] = growing.event_time[start : start + length]
        growing.event_reverse[to : to + length] = growing.event_reverse[start : start + length]
        growing.event_features[to : to + length] = growing.event_features[start : start + length]
        growing.event_categories[to : to + length] = growing.event_categories[start : start + length]
        growing.edge_offset[edge], growing.edge_stop[edge], growing.edge_room[edge] = to, to + length, growing.used[2]
    place, time = growing.edge_stop[edge], events.time[i]
    growing.edge_stop[edge] += 1
    while place > growing.edge_offset[edge] and growing.event_time[place - 1] > time:
        growing.event_time[place] = growing.event_time[place - 1]
        growing.event_reverse[place] = growing.event_reverse[place - 1]
        growing.event_features[place] = growing.event_features[place - 1]
        growing.event_categories[place] = growing.event_categories[place - 1]
        place -= 1
    growing.event_time[place], growing.event_reverse[place] = time, reverse
    growing.event_features[place], growing.event_categories[place] = events.features[i], events.categories[i]
    return bool(place < growing.edge_stop[edge] - 1)
