"""Seeds to batches: sample neighbours, read their histories, scale, and return tensors.

``HistoryReader`` reads the last events of edges before a view's cut, scaled. Sampled and exact scoring share it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.config import RunConfig
from gtea.errors import UsageError
from gtea.features.event_features import EventEncoder
from gtea.features.node_features import HeadInputs, NodeFeatures, Statistics
from gtea.features.preprocessing import Preprocessing
from gtea.nn.batch import Batch, Histories
from gtea.sampling.neighbours import NeighbourSampler, Strategy
from gtea.sampling.tabular import NodeRows
from gtea.store.graph import Graph, graph_of
from gtea.store.histories import count_kept_events, gather_histories, gather_last
from gtea.store.store import Store
from gtea.store.view import View


class Collator:
    """Makes batches from one view. What is sampled for a seed does not depend on the other seeds or their order."""

    def __init__(
        self,
        view: View,
        preprocessing: Preprocessing,
        *,
        fanout: int = 10,
        num_layers: int = 2,
        max_events: int = 64,
        strategy: Strategy = "uniform",
        seed: int = 0,
        with_degrees: bool = False,
        with_tree_inputs: bool = False,
        shares: Statistics | None = None,
    ) -> None:
        """Prepare the batches of a view.

        Args:
            shares: What computes neighbour labels of the seeds; None reads them from the view.
        """
        self.view = view
        self.preprocessing = preprocessing
        self.reader = HistoryReader(view, preprocessing, max_events)
        self._with_degrees = with_degrees
        self._sampler = NeighbourSampler(view, fanout, num_layers, strategy, seed)
        self._nodes = NodeFeatures(view, preprocessing.nodes)
        self._head_inputs = HeadInputs(view, preprocessing.rank_inputs, preprocessing.neighbour_labels, shares)
        self._tree_inputs = NodeRows(view, preprocessing, shares=shares) if with_tree_inputs else None

    def batch(self, seeds: NDArray[np.integer[Any]], epoch: int = 0) -> Batch:
        """The batch of some seeds, which must be distinct. Row i of the model's output belongs to seed i."""
        subgraph = self._sampler.sample(seeds, epoch)
        features = self._nodes.rows(subgraph.nodes)
        head_inputs = self._head_inputs.rows(subgraph.nodes[: len(seeds)], features[: len(seeds)])
        return Batch(
            subgraph.num_within,
            torch.from_numpy(features),
            torch.from_numpy(subgraph.neighbour),
            torch.from_numpy(subgraph.edge),
            self.reader.read(subgraph.edges, subgraph.seen_from),
            self._degrees(subgraph.nodes) if self._with_degrees else None,
            None if head_inputs is None else torch.from_numpy(head_inputs),
            None if self._tree_inputs is None else self._tree_inputs.batch(seeds),
        )

    def _degrees(self, nodes: NDArray[np.int64]) -> torch.Tensor:
        start, stop = self.view.slot_ranges(nodes)
        return torch.from_numpy(stop - start)


def collator_for(
    store: Store,
    cut: int,
    preprocessing: Preprocessing,
    config: RunConfig,
    *,
    with_degrees: bool = False,
    with_tree_inputs: bool = False,
    shares: Statistics | None = None,
) -> Collator:
    """The collator of a store as of a cut, with the settings of a run."""
    return Collator(
        store.as_of(cut),
        preprocessing,
        fanout=config.sampling.fanout,
        num_layers=config.model.num_layers,
        max_events=config.sampling.max_events,
        strategy=config.sampling.strategy,
        seed=config.train.seed,
        with_degrees=with_degrees,
        with_tree_inputs=with_tree_inputs,
        shares=shares,
    )


class HistoryReader:
    """Reads the histories of edges as of one view's cut."""

    def __init__(self, view: View, preprocessing: Preprocessing, max_events: int) -> None:
        if max_events < 0:
            raise UsageError(f"max_events: must not be negative (got {max_events}). 0 keeps whole histories.")
        self.graph = graph_of(view)
        self._max_events = max_events
        self._events = EventEncoder(view.store, preprocessing.events, preprocessing.times)

    def read(self, edges: NDArray[np.int64], seen_from: NDArray[np.int64]) -> Histories:
        """The histories of edges.

        Args:
            seen_from: For each edge, the end from which events count as sent or received.
        """
        return self.read_in(self.graph, edges, seen_from)

    def read_in(self, graph: Graph, edges: NDArray[np.int64], seen_from: NDArray[np.int64]) -> Histories:
        """The same of edges of another graph whose events are those of the store."""
        encoded = self._events.encode(gather_histories(graph, edges, seen_from, self._max_events))
        return Histories(*(torch.from_numpy(column) for column in encoded))

    def read_last(
        self, graph: Graph, edges: NDArray[np.int64], seen_from: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> Histories:
        """That many last events of each edge."""
        encoded = self._events.encode(gather_last(graph, edges, seen_from, counts))
        return Histories(*(torch.from_numpy(column) for column in encoded))

    def num_events(self, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """The length of each edge's history. Events at or after the cut must not even decide the borders of batches."""
        return count_kept_events(self.graph, edges, self._max_events)


def distinct(*groups: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], tuple[NDArray[np.int64], ...]]:
    """The distinct nodes of some groups, and for each group the index of its nodes among them.

    Pairs share accounts, but the seeds of a batch must be distinct.
    """
    nodes, index = np.unique(np.concatenate(groups), return_inverse=True)
    ends = np.cumsum([len(group) for group in groups])
    return nodes.astype(np.int64), tuple(np.split(index, ends[:-1]))
