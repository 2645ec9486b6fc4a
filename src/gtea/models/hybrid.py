"""The default model: GTEA and boosted trees, each trained alone, and blended by what the validation part shows.

    log p(c) = sum_k w_k log p_k(c) + constant                        (gtea.models.blend)

Accounts have three models: GTEA; trees on an account's own features, which change little over time; and trees on all
features: those of partners, of rhythm, and the labels of neighbours. Pairs have two: GTEA, and trees on the ranks of
pair statistics. They make different mistakes: trees see sharp differences in numbers, and GTEA sees who an account
deals with and in which order. Beyond the paper; see docs/decisions/0024 and 0029.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from gtea.config import InputSpec, ModelConfig
from gtea.errors import UsageError
from gtea.models.blend import Blend
from gtea.models.boosted_trees import STRONG, BoostedTrees, PairBoostedTrees
from gtea.models.gtea import GTEALinkNetwork, GTEANodeClassifier
from gtea.nn.batch import Batch, PairBatch

_LARGEST_LOGIT = 12.0
"""The trees' logits are clipped to this: a class that they were not trained on is unlikely, not impossible."""


class Hybrid(nn.Module):
    """What hybrids of either task have in common: GTEA, sets of trees, and their blend."""

    blend: Blend
    network_alone = False
    """Whether answers are GTEA's alone, as in training mode."""

    def log_probabilities(self, inputs: Any) -> Tensor:
        """Log probabilities of a batch by each model, GTEA first, [num_rows, num_models, num_classes]."""
        raise NotImplementedError

    def trees(self) -> Mapping[str, BoostedTrees]:
        """The sets of trees by name."""
        raise NotImplementedError

    def tree_rows(self, name: str, rows: Tensor) -> Tensor:
        """The columns that a set of trees reads, of rows that have all."""
        return rows

    def fit_trees(self, rows: Tensor, targets: Tensor, weights: Tensor) -> None:
        """Fit all sets of trees to training examples."""
        for name, trees in self.trees().items():
            trees.fit(self.tree_rows(name, rows), targets, weights)

    @contextmanager
    def without_trees(self) -> Iterator[None]:
        """Answer by GTEA alone: what its epochs are chosen by."""
        self.network_alone = True
        try:
            yield
        finally:
            self.network_alone = False

    def _is_blended(self) -> bool:
        return not (self.training or self.network_alone)


class EachModel(nn.Module):
    """The log probabilities of a hybrid's models as a network of its own, so that they can be scored like one."""

    def __init__(self, hybrid: Hybrid) -> None:
        super().__init__()
        self.hybrid = hybrid

    def forward(self, inputs: Any) -> Tensor:
        """[num_rows, num_models, num_classes]."""
        return self.hybrid.log_probabilities(inputs)


class HybridClassifier(GTEANodeClassifier, Hybrid):
    """Class logits of the seeds of a batch. In training mode, the network alone: the trees are fitted first."""

    def __init__(self, config: ModelConfig, spec: InputSpec, num_classes: int, seed: int) -> None:
        super().__init__(config, spec, num_classes, seed)
        self._d_own = spec.d_own_features
        d_in = spec.d_tree_inputs or spec.d_node_features + spec.d_neighbour_labels
        self.tree = BoostedTrees(self._d_own or d_in, num_classes, seed, STRONG)
        self.wide_tree = BoostedTrees(d_in, num_classes, seed, STRONG) if self._d_own else None
        self.blend = Blend(1 + len(self.trees()))

    def answer(self, z: Tensor, head_inputs: Tensor | None, tree_inputs: Tensor | None = None) -> Tensor:
        """Logits of nodes with these embeddings and inputs."""
        if not self._is_blended():
            return super().answer(z, head_inputs)
        logits: Tensor = self.blend(self.each_answer(z, head_inputs, tree_inputs))
        return logits

    def log_probabilities(self, inputs: Batch) -> Tensor:
        """Log probabilities of the seeds by each model."""
        return self.each_answer(self.gtea(inputs), inputs.head_inputs, inputs.tree_inputs)

    def each_answer(self, z: Tensor, head_inputs: Tensor | None, tree_inputs: Tensor | None) -> Tensor:
        """Log probabilities of nodes by each model, GTEA first, [num_nodes, num_models, num_classes]."""
        assert tree_inputs is not None, "batches for a hybrid have tree inputs"
        network = super().answer(z, head_inputs)
        trees = [model(self.tree_rows(name, tree_inputs)).to(network) for name, model in self.trees().items()]
        logits = [network, *(each.clamp(-_LARGEST_LOGIT, _LARGEST_LOGIT) for each in trees)]
        return torch.log_softmax(torch.stack(logits, dim=1), dim=2)

    def trees(self) -> Mapping[str, BoostedTrees]:
        """The trees on own features and, if there are others, those on all."""
        return {"tree": self.tree} if self.wide_tree is None else {"tree": self.tree, "wide_tree": self.wide_tree}

    def tree_rows(self, name: str, rows: Tensor) -> Tensor:
        """The columns that a set of trees reads: the first ones, or all."""
        return rows[:, : self._d_own] if name == "tree" and self._d_own else rows


class HybridPredictor(GTEALinkNetwork, Hybrid):
    """Link logits of pairs. In training mode, the network alone: the trees are fitted first."""

    def __init__(self, config: ModelConfig, spec: InputSpec, seed: int) -> None:
        super().__init__(config, spec, seed)
        if not spec.d_pair_statistics:
            raise UsageError(
                "features.pair_statistics must be true for a hybrid link model, whose trees read them (got false). "
                "Leave it out, or choose another --variant."
            )
        self.tree = PairBoostedTrees(spec.d_pair_statistics, seed, STRONG)
        self.blend = Blend(2)

    def answer(self, z_u: Tensor, z_v: Tensor, e_tilde: Tensor | None, statistics: Tensor | None) -> Tensor:
        """Logits of pairs with these embeddings and statistics."""
        if not self._is_blended():
            return super().answer(z_u, z_v, e_tilde, statistics)
        logits: Tensor = self.blend(self._models(z_u, z_v, e_tilde, statistics))
        return logits[:, 1] - logits[:, 0]

    def log_probabilities(self, inputs: PairBatch) -> Tensor:
        """Log probabilities of no link and of a link by each model."""
        return self._models(*self.embed(inputs), inputs.statistics)

    def trees(self) -> Mapping[str, BoostedTrees]:
        """The trees on pair statistics."""
        return {"tree": self.tree}

    def _models(self, z_u: Tensor, z_v: Tensor, e_tilde: Tensor | None, statistics: Tensor | None) -> Tensor:
        network = super().answer(z_u, z_v, e_tilde, statistics)
        trees = self.tree(statistics).to(network).clamp(-_LARGEST_LOGIT, _LARGEST_LOGIT)
        logits = torch.stack([network, trees], dim=1)
        return torch.stack([functional.logsigmoid(-logits), functional.logsigmoid(logits)], dim=2)
