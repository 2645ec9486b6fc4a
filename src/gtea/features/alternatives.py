"""Alternatives to accounts: the same accounts without some of their events, side by side in one graph.

An alternative has slots, edges and events of its own: those of the account that are left. Its neighbours are the real
ones. So whatever is computed of an account from its own events alone is computed of all its alternatives by the same
code in one call. Alternatives are numbered after the nodes of the store, and no node of the store has slots in this
graph: what depends on neighbours of neighbours must be read elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.features.account_statistics import statistics_in
from gtea.features.rhythm_statistics import rhythm_statistics_in
from gtea.features.short_sorts import UNKNOWN_ORDER
from gtea.runtime.jit import jit
from gtea.store.graph import Graph, graph_of, visible_events, visible_slots
from gtea.store.store import Store
from gtea.store.view import View


@dataclass(frozen=True)
class Alternatives:
    """A graph of alternatives, and the account that each stands for."""

    graph: Graph
    nodes: NDArray[np.int64]
    """Their numbers in the graph."""
    original: NDArray[np.int64]
    """The node number in the store of the account that each is an alternative to."""
    order: NDArray[np.int64]
    """The order in time of each one's events, if it is known; see ``gtea.features.short_sorts``."""
    store: Store

    @cached_property
    def statistics(self) -> NDArray[np.float64]:
        """Their account statistics, computed once for all who read them."""
        return statistics_in(self.graph, self.store, self.nodes, self.order)

    @cached_property
    def rhythm(self) -> NDArray[np.float64]:
        """Their rhythm statistics."""
        return rhythm_statistics_in(self.graph, self.store, self.nodes, self.order)


def alternatives(view: View, original: NDArray[np.int64], left_out: list[NDArray[np.int64]]) -> Alternatives:
    """Build alternatives.

    Args:
        original: The account of each.
        left_out: The events that each is without, as rows of the event arrays.
    """
    graph = graph_of(view)
    num_nodes = len(graph.node_offset) - 1
    stops = np.cumsum([len(rows) for rows in left_out], dtype=np.int64)
    made = _copies(graph, original, np.concatenate([np.zeros(1, dtype=np.int64), stops]), np.concatenate(left_out))
    offset = np.zeros(num_nodes + len(original) + 1, dtype=np.int64)
    offset[num_nodes + 1 :] = made.ends
    order = UNKNOWN_ORDER if made.moved else made.order
    arrays = made[1:-2]
    for array in (offset, *arrays, order):
        array.flags.writeable = False  # as if mapped: compiled code is compiled anew for arrays that can be written
    copies = num_nodes + np.arange(len(original))
    made_of: dict[str, Any] = dict(zip(_Copies._fields[1:-2], arrays, strict=True))
    grown = Graph(cut=graph.cut, node_offset=offset, node_stop=offset[1:], edge_stop=made.edge_offset[1:], **made_of)
    return Alternatives(grown, copies, original, order, view.store)


class _Copies(NamedTuple):
    """The arrays of ``Graph`` of the copies alone."""

    ends: NDArray[np.int64]
    """Where the slots of each end, as in ``node_offset[1:]``."""
    slot_neighbour: NDArray[np.int32]
    slot_edge: NDArray[np.int64]
    slot_first_time: NDArray[np.int64]
    edge_a: NDArray[np.int32]
    edge_b: NDArray[np.int32]
    edge_offset: NDArray[np.int64]
    edge_first_time: NDArray[np.int64]
    edge_last_time: NDArray[np.int64]
    event_time: NDArray[np.int64]
    event_reverse: NDArray[np.uint8]
    event_features: NDArray[np.float32]
    event_categories: NDArray[np.int32]
    order: NDArray[np.int64]
    """The order in time of each one's events."""
    moved: bool
    """Whether a slot has moved, which makes the order useless."""


@jit
def _num_events(graph: Graph, node: int) -> int:
    count = 0
    start, stop = visible_slots(graph, node)
    for slot in range(start, stop):
        first, end = visible_events(graph, graph.slot_edge[slot])
        count += end - first
    return count


@jit
def _copies(
    graph: Graph, original: NDArray[np.int64], offset: NDArray[np.int64], left_out: NDArray[np.int64]
) -> _Copies:
    num_slots, num_events = 0, 0
    for node in original:
        start, stop = visible_slots(graph, node)
        num_slots += stop - start
        num_events += _num_events(graph, node)
    ends = np.zeros(len(original), dtype=np.int64)
    neighbour, edges = np.empty(num_slots, dtype=np.int32), np.empty(num_slots, dtype=np.int64)
    first_time, last_time = np.empty(num_slots, dtype=np.int64), np.empty(num_slots, dtype=np.int64)
    numbers = np.empty(num_slots, dtype=np.int64)
    edge_a, edge_b = np.empty(num_slots, dtype=np.int32), np.empty(num_slots, dtype=np.int32)
    edge_offset, times = np.zeros(num_slots + 1, dtype=np.int64), np.empty(num_events, dtype=np.int64)
    reverse = np.empty(num_events, dtype=np.uint8)
    features = np.empty((num_events, graph.event_features.shape[1]), dtype=np.float32)
    categories = np.empty((num_events, graph.event_categories.shape[1]), dtype=np.int32)
    is_out = np.zeros(len(graph.event_time), dtype=np.bool_)
    slots, events, moved = 0, 0, False
    order, sorted_of = np.empty(num_events, dtype=np.int64), np.int64(-1)
    own_order, place = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for i in range(len(original)):
        node, copy = original[i], len(graph.node_offset) - 1 + i
        if node != sorted_of:
            own_order, sorted_of = _time_order(graph, node), np.int64(node)
            place = np.empty(len(own_order), dtype=np.int64)
        for row in left_out[offset[i] : offset[i + 1]]:
            is_out[row] = True
        begin, first_event, seen = slots, events, 0
        start, stop = visible_slots(graph, node)
        for slot in range(start, stop):
            edge = graph.slot_edge[slot]
            before = events
            first, end = visible_events(graph, edge)
            for event in range(first, end):
                place[seen] = -1 if is_out[event] else events - first_event
                seen += 1
                if is_out[event]:
                    continue
                times[events], reverse[events] = graph.event_time[event], graph.event_reverse[event]
                for k in range(features.shape[1]):
                    features[events, k] = graph.event_features[event, k]
                for k in range(categories.shape[1]):
                    categories[events, k] = graph.event_categories[event, k]
                events += 1
            if events == before:
                continue
            other = graph.slot_neighbour[slot]
            edge_a[slots] = copy if graph.edge_a[edge] == node else other
            edge_b[slots] = copy if graph.edge_b[edge] == node else other
            neighbour[slots], edges[slots] = (copy if other == node else other), slots
            first_time[slots], last_time[slots], numbers[slots] = times[before], times[events - 1], edge
            slots += 1
            edge_offset[slots] = events
        moved |= _order_slots(begin, slots, neighbour, edges, first_time, numbers)
        filled = first_event
        for ranked in own_order:
            if place[ranked] >= 0:
                order[filled] = place[ranked]
                filled += 1
        ends[i] = slots
        for row in left_out[offset[i] : offset[i + 1]]:
            is_out[row] = False
    edge_first = np.empty(slots, dtype=np.int64)
    edge_first[edges[:slots]] = first_time[:slots]
    return _Copies(
        ends,
        neighbour[:slots].copy(),
        edges[:slots].copy(),
        first_time[:slots].copy(),
        edge_a[:slots].copy(),
        edge_b[:slots].copy(),
        edge_offset[: slots + 1].copy(),
        edge_first,
        last_time[:slots].copy(),
        times[:events].copy(),
        reverse[:events].copy(),
        features[:events].copy(),
        categories[:events].copy(),
        order[:events].copy(),
        moved,
    )


@jit
def _time_order(graph: Graph, node: int) -> NDArray[np.int64]:
    """The order in time of a node's events; equal times keep the order of the slots."""
    times, count = np.empty(_num_events(graph, node), dtype=np.int64), 0
    start, stop = visible_slots(graph, node)
    for slot in range(start, stop):
        first, end = visible_events(graph, graph.slot_edge[slot])
        times[count : count + end - first] = graph.event_time[first:end]
        count += end - first
    return np.argsort(times, kind="mergesort")


@jit
def _order_slots(
    start: int,
    stop: int,
    neighbour: NDArray[np.int32],
    edges: NDArray[np.int64],
    first_time: NDArray[np.int64],
    numbers: NDArray[np.int64],
) -> bool:
    """Sort slots by first event and edge number in the store. Returns whether one that lost its first event moved."""
    moved = False
    for i in range(start + 1, stop):
        other, edge, time, number, place = neighbour[i], edges[i], first_time[i], numbers[i], i
        while place > start and (
            first_time[place - 1] > time or (first_time[place - 1] == time and numbers[place - 1] > number)
        ):
            for column in (edges, first_time, numbers):
                column[place] = column[place - 1]
            neighbour[place] = neighbour[place - 1]
            place -= 1
            moved = True
        neighbour[place], edges[place], first_time[place], numbers[place] = other, edge, time, number
    return moved
