"""Seeds in, a batch out: choose neighbours, gather histories, scale, hand over as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.batch import Batch
from gtea.sampling.history_reader import HistoryReader
from gtea.sampling.neighbours import NeighbourSampler, Strategy
from gtea.sampling.node_features import NodeFeatures
from gtea.sampling.own_ranks import OwnRanks
from gtea.sampling.preprocessing import Preprocessing
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
        self._ranks = OwnRanks(view, preprocessing)

    def batch(self, seeds: NDArray[np.integer[Any]], epoch: int = 0) -> Batch:
        """The batch of some seeds, each named once; row i of the model's output is seed i's."""
        found = self._sampler.sample(seeds, epoch)
        features = self._nodes.rows(found.nodes)
        ranks = self._ranks.rows(found.nodes[: len(seeds)], features[: len(seeds)])
        return Batch(
            found.num_within,
            torch.from_numpy(features),
            torch.from_numpy(found.neighbour),
            torch.from_numpy(found.edge),
            self.reader.read(found.edges, found.seen_from),
            self._degrees(found.nodes) if self._with_degrees else None,
            None if ranks is None else torch.from_numpy(ranks),
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
