"""The tree beside a network, grown before training begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor, nn

from gtea.models.hybrid import HybridClassifier, HybridPredictor


class Examples(NamedTuple):
    """What a tree is grown from."""

    rows: Tensor
    answers: Tensor
    weights: Tensor


def grow_tree(network: nn.Module, examples: Callable[[], Examples]) -> None:
    """Grow the tree of a network that has one beside it; the examples are not made for others."""
    if isinstance(network, HybridClassifier | HybridPredictor):
        network.tree.fit(*examples())
