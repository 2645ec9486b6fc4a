"""The default model: GTEA and boosted trees, each trained alone. The result is the mean of their logits.

    logits = (trees(x) + head(z)) / 2

x are an account's own features, or the ranks of a pair's statistics; z is GTEA's embedding. The two make different
mistakes: trees see sharp differences in numbers and nothing else, and GTEA sees who an account deals with and in which
order. The more confident one has the larger logit and decides. Beyond the paper; see docs/decisions/0024.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gtea.config import InputSpec, ModelConfig
from gtea.errors import UsageError
from gtea.models.boosted_trees import BoostedTrees, PairBoostedTrees
from gtea.models.gtea import GTEALinkNetwork, GTEANodeClassifier

_LARGEST_LOGIT = 12.0
"""The trees' logits are clipped to this: a class that they were not trained on is unlikely, not impossible."""


class HybridClassifier(GTEANodeClassifier):
    """Class logits of the seeds of a batch. In training mode, the network alone: the trees are fitted first."""

    def __init__(self, config: ModelConfig, spec: InputSpec, num_classes: int, seed: int) -> None:
        super().__init__(config, spec, num_classes, seed)
        self._d_neighbour_labels = spec.d_neighbour_labels
        self.tree = BoostedTrees(spec.d_node_features + spec.d_neighbour_labels, num_classes, seed)

    def answer(self, z: Tensor, x: Tensor, head_inputs: Tensor | None) -> Tensor:
        """Logits of nodes with these embeddings and features."""
        network = super().answer(z, x, head_inputs)
        return network if self.training else _mean(network, self.tree(self._tree_inputs(x, head_inputs)))

    def _tree_inputs(self, x: Tensor, head_inputs: Tensor | None) -> Tensor:
        """The node features and, if the model has them, the neighbour labels."""
        if not self._d_neighbour_labels or head_inputs is None:
            return x
        return torch.cat([x, head_inputs[:, -self._d_neighbour_labels :]], dim=1)


class HybridPredictor(GTEALinkNetwork):
    """Link logits of pairs. In training mode, the network alone: the trees are fitted first."""

    def __init__(self, config: ModelConfig, spec: InputSpec, seed: int) -> None:
        super().__init__(config, spec, seed)
        if not spec.d_pair_statistics:
            raise UsageError(
                "features.pair_statistics must be true for a hybrid link model, whose trees read them (got false). "
                "Leave it out, or choose another --variant."
            )
        self.tree = PairBoostedTrees(spec.d_pair_statistics, seed)

    def answer(self, z_u: Tensor, z_v: Tensor, e_tilde: Tensor | None, statistics: Tensor | None) -> Tensor:
        """Logits of pairs with these embeddings and statistics."""
        network = super().answer(z_u, z_v, e_tilde, statistics)
        return network if self.training else _mean(network, self.tree(statistics))


def _mean(network: Tensor, trees: Tensor) -> Tensor:
    return (network + trees.to(network).clamp(-_LARGEST_LOGIT, _LARGEST_LOGIT)) / 2
