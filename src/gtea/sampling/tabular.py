"""Accounts and pairs as rows of features, for models that do not read a subgraph: boosted trees and EdgeBank."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtea.features.node_features import HeadInputs, NodeFeatures, Statistics
from gtea.features.pair_statistics import time_since_last_event
from gtea.features.preprocessing import Preprocessing
from gtea.store.view import View


class NodeRows:
    """What trees read of each account: node features and neighbour labels, [num_seeds, d_tree_inputs]."""

    def __init__(
        self,
        view: View,
        preprocessing: Preprocessing,
        *,
        cached: bool = True,
        partners: Statistics | None = None,
        shares: Statistics | None = None,
    ) -> None:
        """Prepare the features of a view.

        Args:
            cached: Keep rows for later batches. Not needed if each account is read once.
            partners: What computes raw partner statistics of nodes; None reads them from the view.
            shares: What computes neighbour labels of nodes; None reads them from the view.
        """
        self._nodes = NodeFeatures(view, preprocessing.tree_nodes or preprocessing.nodes, partners, cached=cached)
        self._head_inputs = HeadInputs(view, preprocessing.rank_inputs, preprocessing.neighbour_labels, shares)

    def batch(self, seeds: NDArray[np.integer[Any]], epoch: int = 0) -> Tensor:
        """One row per account, the same in every epoch."""
        nodes = np.asarray(seeds, dtype=np.int64)
        features = self._nodes.rows(nodes)
        shares = self._head_inputs.label_shares(nodes)
        return torch.from_numpy(features if shares is None else np.concatenate([features, shares], axis=1))


class PairRows:
    """The statistics of each pair, [num_pairs, d_pair_statistics]."""

    def __init__(self, view: View, preprocessing: Preprocessing) -> None:
        self._statistics = preprocessing.pair_statistics_of(view)

    def batch(self, src: NDArray[np.integer[Any]], dst: NDArray[np.integer[Any]], epoch: int = 0) -> Tensor:
        """One row per pair, the same in every epoch."""
        return torch.from_numpy(self._statistics.rows(src.astype(np.int64), dst.astype(np.int64)))


class PairRecency:
    """The time since each pair's last event, [num_pairs]; infinite for a pair without events."""

    def __init__(self, view: View, preprocessing: Preprocessing) -> None:
        self._view = view
        self._per_unit = preprocessing.times.stored_per_unit(view.store.unit)

    def batch(self, src: NDArray[np.integer[Any]], dst: NDArray[np.integer[Any]], epoch: int = 0) -> Tensor:
        """One number per pair, the same in every epoch."""
        return torch.from_numpy(
            time_since_last_event(self._view, src.astype(np.int64), dst.astype(np.int64), self._per_unit)
        )
