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
"""The logits of a batch, given whom each of its rows is about."""


class Examples(NamedTuple):
    """What trees are grown from."""

    subjects: NDArray[np.int64]
    """Whom each row is about. One row of somebody tells much about the next, so a tree knows all of theirs or none."""
    rows: Tensor
    answers: Tensor
    weights: Tensor


def way_to_ask(network: nn.Module, examples: Callable[[], Examples]) -> Ask:
    """How to ask this network. If it listens to a tree, the tree is grown now."""
    if not isinstance(network, TreeFirstClassifier | TreeFirstPredictor):
        return lambda batch, subjects: network(batch)
    listener, known = network, examples()
    listener.tree.fit(known.rows, known.answers, known.weights)
    others = CrossFitted(listener.sapling, torch.from_numpy(known.subjects), *known[1:])

    def ask(batch: Any, subjects: NDArray[np.int64]) -> Tensor:
        logits: Tensor = listener(batch, others.advice(torch.from_numpy(subjects), listener.own(batch)))
        return logits

    return ask
