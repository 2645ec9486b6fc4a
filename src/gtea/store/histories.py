"""Gather the histories of edges: the last events before the cut, unscaled, concatenated.

Long histories keep their LAST events. The gap of an event is the time since the pair's previous event, even if that
one is not kept. A pair's first event has gap 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit
from gtea.store.graph import Graph, visible_events


class RaggedEvents(NamedTuple):
    """Concatenated histories, without padding. History i is rows offset[i] : offset[i + 1]."""

    offset: NDArray[np.int64]
    pair_start: NDArray[np.int64]
    """For each history, the time of the pair's first event, whether or not that event is kept."""
    time: NDArray[np.int64]
    gap: NDArray[np.int64]
    sent: NDArray[np.bool_]
    """Whether the node of this slot sent the event (True) or received it. Self-loops count as sent."""
    features: NDArray[np.float32]
    categories: NDArray[np.int32]


@jit
def _kept_events(graph: Graph, edge: int, max_events: int) -> tuple[int, int]:
    """The range of an edge's last events before the cut, at most ``max_events`` (0: all)."""
    first, stop = visible_events(graph, edge)
    return (first if max_events == 0 else max(first, stop - max_events)), stop


@jit
def count_kept_events(graph: Graph, edges: NDArray[np.int64], max_events: int) -> NDArray[np.int64]:
    """How many events ``gather_histories`` takes of each edge."""
    counts = np.empty(len(edges), dtype=np.int64)
    for i in range(len(edges)):
        start, stop = _kept_events(graph, edges[i], max_events)
        counts[i] = stop - start
    return counts


@jit
def gather_histories(
    graph: Graph, edges: NDArray[np.int64], seen_from: NDArray[np.int64], max_events: int
) -> RaggedEvents:
    """Gather the histories of edges, each as seen from one of its ends.

    Args:
        seen_from: For each edge, the end from which it is seen. It decides what counts as sent.
        max_events: How many events of each history to keep (0: all).
    """
    start, offset = np.empty(len(edges), dtype=np.int64), np.zeros(len(edges) + 1, dtype=np.int64)
    # The searches are bound by memory latency. In a loop of their own, their cache misses overlap.
    for i in range(len(edges)):
        start[i], stop = _kept_events(graph, edges[i], max_events)
        offset[i + 1] = offset[i] + stop - start[i]
    return _gathered(graph, edges, seen_from, start, offset)


@jit
def gather_last(
    graph: Graph, edges: NDArray[np.int64], seen_from: NDArray[np.int64], counts: NDArray[np.int64]
) -> RaggedEvents:
    """The same, with a number of last events for each edge, which it must have."""
    start, offset = np.empty(len(edges), dtype=np.int64), np.zeros(len(edges) + 1, dtype=np.int64)
    for i in range(len(edges)):
        _, stop = visible_events(graph, edges[i])
        start[i] = stop - counts[i]
        offset[i + 1] = offset[i] + counts[i]
    return _gathered(graph, edges, seen_from, start, offset)


@jit
def _gathered(
    graph: Graph,
    edges: NDArray[np.int64],
    seen_from: NDArray[np.int64],
    start: NDArray[np.int64],
    offset: NDArray[np.int64],
) -> RaggedEvents:
    num_edges, num_events = len(edges), offset[-1]
    pair_start = np.empty(num_edges, dtype=np.int64)
    time, gap = np.empty(num_events, dtype=np.int64), np.empty(num_events, dtype=np.int64)
    sent = np.empty(num_events, dtype=np.bool_)
    features = np.empty((num_events, graph.event_features.shape[1]), dtype=np.float32)
    categories = np.empty((num_events, graph.event_categories.shape[1]), dtype=np.int32)
    for i in range(num_edges):
        first = graph.edge_offset[edges[i]]
        pair_start[i] = graph.edge_first_time[edges[i]]
        sent_when = 0 if graph.edge_a[edges[i]] == seen_from[i] else 1
        for row in range(offset[i], offset[i + 1]):
            event = start[i] + row - offset[i]
            time[row] = graph.event_time[event]
            gap[row] = graph.event_time[event] - graph.event_time[event - 1] if event > first else 0
            sent[row] = graph.event_reverse[event] == sent_when
            for k in range(features.shape[1]):
                features[row, k] = graph.event_features[event, k]
            for k in range(categories.shape[1]):
                categories[row, k] = graph.event_categories[event, k]
    return RaggedEvents(offset, pair_start, time, gap, sent, features, categories)
