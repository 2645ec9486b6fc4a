"""Probabilities from batches: a sample of the neighbours for networks, rows of statistics for trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtea.errors import ModelError
from gtea.models.registry import NodeBatches, PairBatches
from gtea.runtime.device import loader_workers
from gtea.sampling.loader import Loader

_Made = TypeVar("_Made")


@dataclass(frozen=True)
class NodeScorer:
    """Scores nodes of one view with one network. A node's score does not depend on the other nodes."""

    network: torch.nn.Module
    batches: NodeBatches
    batch_size: int
    device: torch.device

    def probabilities(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """One row of class probabilities for each node."""
        return self._rows(nodes, lambda logits: torch.softmax(logits, dim=1))

    def outputs(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The network's output for each node, one row each."""
        return self._rows(nodes, lambda rows: rows)

    def _rows(self, nodes: NDArray[np.int64], finish: Callable[[Tensor], Tensor]) -> NDArray[np.float64]:
        """Each distinct node is computed once."""
        unique, places = np.unique(nodes, return_inverse=True)
        loader = Loader(
            lambda items, epoch: self.batches.batch(unique[items], epoch),
            len(unique),
            batch_size=self.batch_size,
            shuffle=False,
            workers=loader_workers(),
        )

        def answer(batch: Any) -> Tensor:
            return finish(self.network(batch.to(self.device)).double())

        return _answers(self.network, loader, answer)[places]


@dataclass(frozen=True)
class LinkScorer:
    """Scores pairs of one view with one network. A pair's score does not depend on the other pairs."""

    network: torch.nn.Module
    batches: PairBatches
    batch_size: int
    device: torch.device

    def probabilities(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.float64]:
        """The probability of a link for each pair."""
        return self._rows(src, dst, torch.sigmoid)

    def outputs(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.float64]:
        """The network's output for each pair, one row each."""
        return self._rows(src, dst, lambda rows: rows)

    def _rows(
        self, src: NDArray[np.int64], dst: NDArray[np.int64], finish: Callable[[Tensor], Tensor]
    ) -> NDArray[np.float64]:
        loader = Loader(
            lambda items, epoch: self.batches.batch(src[items], dst[items], epoch),
            len(src),
            batch_size=self.batch_size,
            shuffle=False,
            workers=loader_workers(),
        )

        def answer(pairs: Any) -> Tensor:
            return finish(self.network(pairs.to(self.device)).double())

        return _answers(self.network, loader, answer)


def _answers(network: torch.nn.Module, loader: Loader[_Made], answer: Callable[[_Made], Tensor]) -> NDArray[np.float64]:
    """The answers of a network in eval mode to each item, in order."""
    network.eval()
    with torch.inference_mode():
        parts = [answer(batch).cpu().numpy() for _, batch in loader.epoch(0)]
    return require_finite(np.concatenate(parts))


def require_finite(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rows, or an error if one of them is NaN or infinite."""
    if not np.isfinite(rows).all():
        raise ModelError("scores: must be finite (got NaN or infinity). The model is damaged; train it again.")
    return rows
