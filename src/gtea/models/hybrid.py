"""GTEA with a tree beside it: a boosted tree is asked, too, and the mean of what both say is the answer.

    logits = (tree(own) + head(..)) / 2

``own`` are an account's own features, or the ranks of a pair's statistics. Each learns alone and errs in its own way: a
tree sees where numbers differ and nothing else, the network whom an account deals with and in which order. Who is sure
has the larger logit, and decides. Beyond the paper.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gtea.config import InputSpec, ModelConfig
from gtea.errors import UsageError
from gtea.models.boosted_trees import BoostedTrees, PairBoostedTrees
from gtea.models.gtea import GTEALinkNetwork, GTEANodeClassifier

_LOUDEST = 12.0
"""No logit of a tree counts for more than this: a class that a tree has never seen is unlikely, not impossible."""


class HybridClassifier(GTEANodeClassifier):
    """Class logits of the seeds of a batch. While training, the network's alone: the tree was grown before."""

    def __init__(self, config: ModelConfig, spec: InputSpec, num_classes: int, seed: int) -> None:
        super().__init__(config, spec, num_classes, seed)
        self._d_known = spec.d_neighbour_labels
        self.tree = BoostedTrees(spec.d_node_features + spec.d_neighbour_labels, num_classes, seed)

    def answer(self, z: Tensor, x: Tensor, ranks: Tensor | None) -> Tensor:
        """Logits of nodes with these embeddings and features."""
        own = super().answer(z, x, ranks)
        return own if self.training else _mean(own, self.tree(self._read(x, ranks)))

    def _read(self, x: Tensor, ranks: Tensor | None) -> Tensor:
        """What the tree reads of nodes: their features, and the classes known around them."""
        return torch.cat([x, ranks[:, -self._d_known :]], dim=1) if self._d_known and ranks is not None else x


class HybridPredictor(GTEALinkNetwork):
    """Link logits of pairs. While training, the network's alone: the tree was grown before."""

    def __init__(self, config: ModelConfig, spec: InputSpec, seed: int) -> None:
        super().__init__(config, spec, seed)
        if not spec.d_pair_statistics:
            raise UsageError(
                "model.tree_beside: a tree for links reads statistics of pairs, and features.pairs is false. "
                "Try features.pairs=true, or model.tree_beside=false."
            )
        self.tree = PairBoostedTrees(spec.d_pair_statistics, seed)

    def answer(self, z_u: Tensor, z_v: Tensor, e_tilde: Tensor | None, statistics: Tensor | None) -> Tensor:
        """Logits of pairs with these embeddings and statistics."""
        own = super().answer(z_u, z_v, e_tilde, statistics)
        return own if self.training else _mean(own, self.tree(statistics))


def _mean(own: Tensor, trees: Tensor) -> Tensor:
    return (own + trees.to(own).clamp(-_LOUDEST, _LOUDEST)) / 2
