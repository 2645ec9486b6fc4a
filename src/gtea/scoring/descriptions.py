"""Node features for exact scoring, a part at a time.

A node is described again wherever it is read, so that nothing is held for the millions of neighbours of a hub. Only the
rows of nodes with many slots are kept: there are few of them, they are read most often, and each costs a pass over all
of its events. A row depends on the view and the node alone, so this changes no result.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtea.features.node_features import NodeFeatures, Statistics
from gtea.features.preprocessing import Preprocessing
from gtea.runtime.parallel import parallel_map
from gtea.runtime.progress import Progress, no_progress
from gtea.store.view import View

_NODES_AT_A_TIME = 1 << 14
_MANY_SLOTS = 64


class Descriptions:
    """Describes the nodes of one view."""

    def __init__(self, view: View, preprocessing: Preprocessing, partners: Statistics | None = None) -> None:
        """Prepare the features of a view.

        Args:
            partners: What computes raw partner statistics of nodes; None reads them from the view.
        """
        self._offset = view.arrays.node_offset
        self._features = NodeFeatures(view, preprocessing.nodes, partners, cached=False)
        self._kept: dict[int, NDArray[np.float32]] = {}

    def rows(self, nodes: NDArray[np.int64]) -> Tensor:
        """X of some nodes, [num_nodes, d_node_features], on the CPU. Raw statistics are wider and in float64."""
        large = np.flatnonzero(self._offset[nodes + 1] - self._offset[nodes] > _MANY_SLOTS)
        known = {int(place): self._kept[node] for place in large if (node := int(nodes[place])) in self._kept}
        new = np.ones(len(nodes), dtype=np.bool_)
        new[list(known)] = False
        x = np.empty((len(nodes), self._features.width), dtype=np.float32)
        x[new] = self._features.compute(nodes[new])
        for place, row in known.items():
            x[place] = row
        self._kept.update((int(nodes[place]), x[place].copy()) for place in large if new[place])
        return torch.from_numpy(x)

    def table(self, nodes: NDArray[np.int64], progress: Progress = no_progress) -> Tensor:
        """The same for many nodes, in parallel."""
        x = torch.empty(len(nodes), self._features.width)

        def describe(first: int) -> int:
            some = slice(first, first + _NODES_AT_A_TIME)
            x[some] = self.rows(nodes[some])
            return first

        for first in parallel_map(describe, range(0, len(nodes), _NODES_AT_A_TIME), torch.device("cpu")):
            progress("describing accounts", first / len(nodes))
        return x
