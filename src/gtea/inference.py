"""Class probabilities of accounts, each from a sample of its surroundings."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.errors import ModelError
from gtea.sampling.collate import Collator
from gtea.sampling.loader import Loader


class NodeScorer:
    """Scores nodes of one view with one network. The same node gets the same score whatever else is asked."""

    def __init__(
        self, network: torch.nn.Module, collator: Collator, batch_size: int, device: torch.device, workers: int = 1
    ) -> None:
        self._network = network
        self._collator = collator
        self._batch_size = batch_size
        self._device = device
        self._workers = workers

    def probabilities(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """One row of class probabilities for each node."""
        unique, places = np.unique(nodes, return_inverse=True)
        loader = Loader(
            lambda items, epoch: self._collator.batch(unique[items], epoch),
            len(unique),
            batch_size=self._batch_size,
            shuffle=False,
            workers=self._workers,
        )
        self._network.eval()
        with torch.inference_mode():
            parts = [
                torch.softmax(self._network(batch.to(self._device)).double(), dim=1).cpu().numpy()
                for _, batch in loader.epoch(0)
            ]
        rows: NDArray[np.float64] = np.concatenate(parts)[places]
        if not np.isfinite(rows).all():
            raise ModelError("scores: must be finite (got NaN or infinity). The model is damaged; train it again.")
        return rows
