"""Seeds in, a batch out: choose neighbours, gather histories, scale, hand over as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.config import RunConfig
from gtea.errors import UsageError
from gtea.features.event_features import EventEncoder
from gtea.features.node_features import HeadInputs, NodeFeatures
from gtea.features.preprocessing import Preprocessing
from gtea.nn.batch import Batch, Histories
from gtea.sampling.neighbours import NeighbourSampler, Strategy
from gtea.store.graph import graph_of
from gtea.store.histories import count_kept_events, gather_histories
from gtea.store.store import Store
from gtea.store.view import View


class Collator:
    """Makes batches from one view. What a seed is given does not depend on the other seeds, nor on their order."""

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
    ) -> None:
        self.view = view
        self.preprocessing = preprocessing
        self.reader = HistoryReader(view, preprocessing, max_events)
        self._with_degrees = with_degrees
        self._sampler = NeighbourSampler(view, fanout, num_layers, strategy, seed)
        self._nodes = NodeFeatures(view, preprocessing.nodes)
        self._head_inputs = HeadInputs(view, preprocessing.rank_inputs, preprocessing.neighbour_labels)

    def batch(self, seeds: NDArray[np.integer[Any]], epoch: int = 0) -> Batch:
        """The batch of some seeds, each named once; row i of the model's output is seed i's."""
        found = self._sampler.sample(seeds, epoch)
        features = self._nodes.rows(found.nodes)
        head_inputs = self._head_inputs.rows(found.nodes[: len(seeds)], features[: len(seeds)])
        return Batch(
            found.num_within,
            torch.from_numpy(features),
            torch.from_numpy(found.neighbour),
            torch.from_numpy(found.edge),
            self.reader.read(found.edges, found.seen_from),
            self._degrees(found.nodes) if self._with_degrees else None,
            None if head_inputs is None else torch.from_numpy(head_inputs),
        )

    def _degrees(self, nodes: NDArray[np.int64]) -> torch.Tensor:
        start, stop = self.view.slot_ranges(nodes)
        return torch.from_numpy(stop - start)


def distinct(*groups: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], tuple[NDArray[np.int64], ...]]:
    """Each node of some groups once, and where the nodes of each group are among them.

    The two ends of pairs repeat themselves; a batch names each seed once and is encoded once.
    """
    nodes, places = np.unique(np.concatenate(groups), return_inverse=True)
    ends = np.cumsum([len(group) for group in groups])
    return nodes.astype(np.int64), tuple(np.split(places, ends[:-1]))


class HistoryReader:
    """The one way from edges of a view to histories: sampled and exact answers read the very same events."""

    def __init__(self, view: View, preprocessing: Preprocessing, max_events: int) -> None:
        if max_events < 0:
            raise UsageError(f"max_events: must not be negative (got {max_events}). 0 keeps whole histories.")
        self.graph = graph_of(view)
        self._max_events = max_events
        self._events = EventEncoder(view.store, preprocessing.events, preprocessing.times)

    def read(self, edges: NDArray[np.int64], seen_from: NDArray[np.int64]) -> Histories:
        """The histories of edges, each as the given one of its ends sees it."""
        encoded = self._events.encode(gather_histories(self.graph, edges, seen_from, self._max_events))
        return Histories(*(torch.from_numpy(column) for column in encoded))

    def num_events(self, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many events each of these histories has. Events at or after the cut must not even decide batch borders."""
        return count_kept_events(self.graph, edges, self._max_events)


def collator_for(
    store: Store, cut: int, preprocessing: Preprocessing, config: RunConfig, *, with_degrees: bool = False
) -> Collator:
    """Batches of a store as of a cut, as the configuration wants them."""
    return Collator(
        store.as_of(cut),
        preprocessing,
        fanout=config.sampling.fanout,
        num_layers=config.model.num_layers,
        max_events=config.sampling.max_events,
        strategy=config.sampling.strategy,
        seed=config.train.seed,
        with_degrees=with_degrees,
    )
