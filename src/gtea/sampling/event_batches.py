"""Seeds to event batches: single events before each query, and the queries that these lead to.

A query is a (node, time). It gets at most K of the node's events strictly before its time, with any neighbour: the last
ones, or K drawn uniformly. An event at time t leads to the query (neighbour, t), so the neighbour is described as it
was just before the event and not as of the cut. No event at or after a query's time can be reached from it, at any hop.

What is sampled for a query is a pure function of (seed, epoch, its account, its number of earlier events).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.config import RunConfig
from gtea.features.event_features import EventEncoder
from gtea.features.node_features import HeadInputs, NodeFeatures, Statistics
from gtea.features.preprocessing import Preprocessing
from gtea.nn.batch import EventBatch
from gtea.runtime.jit import jit
from gtea.runtime.rng import Purpose, fold, stream
from gtea.sampling.neighbours import Strategy, draw_distinct
from gtea.store.account_keys import keys_of_all
from gtea.store.graph import Graph, first_not_before, graph_of, visible_events
from gtea.store.histories import RaggedEvents
from gtea.store.store import Store
from gtea.store.timeline import Timeline, timeline_of
from gtea.store.view import View


class EventCollator:
    """Makes event batches from one view. What is sampled for a seed does not depend on the other seeds."""

    def __init__(
        self,
        view: View,
        preprocessing: Preprocessing,
        *,
        fanout: int = 10,
        num_layers: int = 2,
        strategy: Strategy = "uniform",
        seed: int = 0,
        shares: Statistics | None = None,
    ) -> None:
        """Prepare the batches of a view.

        Args:
            shares: What computes neighbour labels of the seeds; None reads them from the view.
        """
        self.view = view
        self._fanout = fanout
        self._num_layers = num_layers
        self._seed = seed
        self._times = preprocessing.times
        self._graph = graph_of(view)
        self._timeline = timeline_of(self._graph)
        self._keys = np.zeros(0, dtype=np.uint64) if strategy == "recent" else keys_of_all(view.store)
        self._events = EventEncoder(view.store, preprocessing.events, preprocessing.times)
        self._nodes = NodeFeatures(view, preprocessing.nodes)
        self._head_inputs = HeadInputs(view, preprocessing.rank_inputs, preprocessing.neighbour_labels, shares)

    def batch(self, seeds: NDArray[np.integer[Any]], epoch: int = 0) -> EventBatch:
        """The batch of some seeds, all queried at the cut. Row i of the model's output belongs to seed i."""
        state = stream(self._seed, Purpose.NEIGHBOURS, epoch)
        nodes, times = np.array(seeds, dtype=np.int64), np.full(len(seeds), self.view.cut)
        frontier, within, chosen = nodes, [len(nodes)], []
        for _ in range(self._num_layers):
            positions = choose_events(self._timeline, self._keys, frontier, times, self._fanout, state)
            chosen.append(self._hop(frontier, times, positions, within[-1]))
            frontier, times = follow_events(self._graph, self._timeline, frontier, positions)
            nodes = np.concatenate([nodes, frontier])
            within.append(len(nodes))
        features = self._nodes.rows(nodes)
        rows = self._head_inputs.rows(nodes[: within[0]], features[: within[0]])
        reached, age, event_features = (torch.cat(parts) for parts in zip(*chosen, strict=True))
        head_inputs = None if rows is None else torch.from_numpy(rows)
        return EventBatch(tuple(within), torch.from_numpy(features), reached, age, event_features, head_inputs)

    def _hop(
        self, nodes: NDArray[np.int64], times: NDArray[np.int64], positions: NDArray[np.int64], first: int
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The ``reached``, ``age`` and ``event_features`` of one hop."""
        row, column = np.nonzero(positions >= 0)
        events = gather_events(self._graph, self._timeline, nodes, positions)
        reached = np.full(positions.shape, -1, dtype=np.int64)
        reached[row, column] = first + np.arange(len(row))
        age = np.zeros(positions.shape, dtype=np.float32)
        age[row, column] = self._times.transform_spans(times[row] - events.time, self.view.store.unit)
        encoded = torch.from_numpy(self._events.encode(events).features)
        features = torch.zeros((*positions.shape, encoded.shape[1]))
        features[torch.from_numpy(row), torch.from_numpy(column)] = encoded
        return torch.from_numpy(reached), torch.from_numpy(age), features


def event_collator_for(
    store: Store, cut: int, preprocessing: Preprocessing, config: RunConfig, *, shares: Statistics | None = None
) -> EventCollator:
    """The event collator of a store as of a cut, with the settings of a run."""
    return EventCollator(
        store.as_of(cut),
        preprocessing,
        fanout=config.sampling.fanout,
        num_layers=config.model.num_layers,
        strategy=config.sampling.strategy,
        seed=config.train.seed,
        shares=shares,
    )


@jit
def choose_events(
    timeline: Timeline,
    keys: NDArray[np.uint64],
    nodes: NDArray[np.int64],
    times: NDArray[np.int64],
    fanout: int,
    state: np.uint64,
) -> NDArray[np.int64]:
    """For each query, up to ``fanout`` timeline positions of events before its time, padded with -1.

    Args:
        keys: Account keys by node, to draw uniformly; empty to take the last events, latest first.
    """
    chosen = np.full((len(nodes), fanout), -1, dtype=np.int64)
    for row in range(len(nodes)):
        start = timeline.offset[nodes[row]]
        stop = first_not_before(timeline.time, start, timeline.offset[nodes[row] + 1], times[row])
        count = stop - start
        if len(keys) > 0 and count > fanout:
            # Keyed by the count and not by the time: an append of finer times changes the stored unit.
            query_state = fold(fold(state, keys[nodes[row]]), np.uint64(count))
            draw_distinct(query_state, start, count, chosen[row])
        else:
            for i in range(min(count, fanout)):
                chosen[row, i] = stop - 1 - i
    return chosen


@jit
def follow_events(
    graph: Graph, timeline: Timeline, nodes: NDArray[np.int64], positions: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The queries that the chosen events lead to, row by row: the neighbours, and the event times."""
    reached, times = np.empty(positions.size, dtype=np.int64), np.empty(positions.size, dtype=np.int64)
    count = 0
    for row in range(positions.shape[0]):
        for i in range(positions.shape[1]):
            if positions[row, i] < 0:
                break
            slot = graph.node_offset[nodes[row]] + timeline.slot[positions[row, i]]
            reached[count], times[count] = graph.slot_neighbour[slot], timeline.time[positions[row, i]]
            count += 1
    return reached[:count], times[:count]


@jit
def gather_events(
    graph: Graph, timeline: Timeline, nodes: NDArray[np.int64], positions: NDArray[np.int64]
) -> RaggedEvents:
    """The chosen events as histories of one event each, row by row, seen from the query's node."""
    num_events = 0
    for row in range(positions.shape[0]):
        for i in range(positions.shape[1]):
            num_events += positions[row, i] >= 0
    pair_start = np.empty(num_events, dtype=np.int64)
    time, gap = np.empty(num_events, dtype=np.int64), np.empty(num_events, dtype=np.int64)
    sent = np.empty(num_events, dtype=np.bool_)
    features = np.empty((num_events, graph.event_features.shape[1]), dtype=np.float32)
    categories = np.empty((num_events, graph.event_categories.shape[1]), dtype=np.int32)
    count = 0
    for row in range(positions.shape[0]):
        for i in range(positions.shape[1]):
            if positions[row, i] < 0:
                break
            edge = graph.slot_edge[graph.node_offset[nodes[row]] + timeline.slot[positions[row, i]]]
            first, end = visible_events(graph, edge)
            event = end - timeline.back[positions[row, i]]
            pair_start[count], time[count] = graph.edge_first_time[edge], graph.event_time[event]
            gap[count] = graph.event_time[event] - graph.event_time[event - 1] if event > first else 0
            sent[count] = graph.event_reverse[event] == (0 if graph.edge_a[edge] == nodes[row] else 1)
            features[count] = graph.event_features[event]
            categories[count] = graph.event_categories[event]
            count += 1
    return RaggedEvents(np.arange(num_events + 1), pair_start, time, gap, sent, features, categories)
