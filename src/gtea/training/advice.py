"""How a network is asked while it trains: alone, or after trees that don't know the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gtea.baselines.tree_first import CrossFitted, TreeFirstClassifier, TreeFirstPredictor

Ask = Callable[[Any, NDArray[np.int64]], Tensor]
"""The logits of a batch, given the number of the example that each of its rows belongs to."""


class Examples(NamedTuple):
    """What trees are grown from."""

    items: NDArray[np.int64]
    rows: Tensor
    answers: Tensor
    weights: Tensor


def way_to_ask(network: nn.Module, examples: Callable[[], Examples]) -> Ask:
    """How to ask this network. If it listens to a tree, the tree is grown now."""
    if not isinstance(network, TreeFirstClassifier | TreeFirstPredictor):
        return lambda batch, items: network(batch)
    listener, known = network, examples()
    listener.tree.fit(known.rows, known.answers, known.weights)
    others = CrossFitted(listener.sapling, torch.from_numpy(known.items), *known[1:])

    def ask(batch: Any, items: NDArray[np.int64]) -> Tensor:
        logits: Tensor = listener(batch, others.advice(torch.from_numpy(items), listener.own(batch)))
        return logits

    return ask
