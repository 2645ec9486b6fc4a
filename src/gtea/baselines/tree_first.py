"""GTEA on the shoulders of a tree: a boosted tree speaks first, and the network adds what the tree can't see.

    logits = trust * tree(own) + head(..)

``own`` are an account's own features, or the ranks of a pair's statistics. The head's last layer begins at zero, so
that training begins with what the tree says and is left with what the tree gets wrong: whom an account deals with, and
in which order. Beyond the paper.

A tree knows its own examples by heart; a network that learnt beside it would learn to believe it blindly. So while
training, each example hears a tree that was grown without it (cross-fitting); everybody else hears the one that was
grown from all of them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from gtea.baselines.fitted import FittedAtOnce
from gtea.baselines.forest import Forest, PairForest
from gtea.batch import Batch, PairBatch
from gtea.config import InputSpec, ModelConfig
from gtea.errors import UsageError
from gtea.nn.classifier import NodeClassifier
from gtea.nn.heads import PairHead
from gtea.nn.initial import begin_at_zero
from gtea.nn.link_predictor import LinkPredictor

_LOUDEST = 12.0
"""No logit of a tree counts for more than this: a class that a tree has never seen is unlikely, not impossible."""


class TreeFirstClassifier(NodeClassifier):
    """Class logits of the seeds of a batch: a tree's on their own features, and what the network adds."""

    def __init__(self, config: ModelConfig, spec: InputSpec, num_classes: int, seed: int) -> None:
        super().__init__(config, spec, num_classes, seed)
        self._sizes = spec.d_node_features + spec.d_known, num_classes, seed
        self._d_known = spec.d_known
        self.tree = self.sapling()
        self.trust = nn.Parameter(torch.ones(()))
        begin_at_zero(self.head.mlp_3.out)

    def sapling(self) -> Forest:
        """A tree of the right sizes that has learnt nothing yet."""
        return Forest(*self._sizes)

    def own(self, batch: Batch) -> Tensor:
        """What the tree reads of a batch."""
        return self._read(batch.node_features[: batch.num_within[0]], batch.ranks)

    def forward(self, batch: Batch, advice: Tensor | None = None) -> Tensor:
        """Logits, [num_seeds, num_classes].

        Args:
            advice: Logits of other trees, for seeds that the model's own tree was grown from.
        """
        return self.answer(self.gtea(batch), batch.node_features[: batch.num_within[0]], batch.ranks, advice)

    def answer(self, z: Tensor, x: Tensor, ranks: Tensor | None, advice: Tensor | None = None) -> Tensor:
        """Logits of nodes with these embeddings and features."""
        own = super().answer(z, x, ranks)
        return own + self.trust * _heard(self.tree(self._read(x, ranks)) if advice is None else advice, own)

    def _read(self, x: Tensor, ranks: Tensor | None) -> Tensor:
        """What the tree reads of nodes: their features, and the classes known around them."""
        return torch.cat([x, ranks[:, -self._d_known :]], dim=1) if self._d_known and ranks is not None else x


class TreeFirstPredictor(LinkPredictor):
    """Link logits of pairs: a tree's on their statistics, and what the network adds."""

    def __init__(self, config: ModelConfig, spec: InputSpec, seed: int) -> None:
        super().__init__(config, spec, seed)
        if not isinstance(self.head, PairHead) or not spec.d_pair_statistics:
            raise UsageError(
                "model.tree_first: a tree for links reads statistics of pairs (got none, by features.pairs = false or "
                f"model.link_head = {config.link_head!r}). Try features.pairs=true and model.link_head=ordered_pair."
            )
        self._sizes = spec.d_pair_statistics, seed
        self.tree = self.sapling()
        self.trust = nn.Parameter(torch.ones(()))
        begin_at_zero(self.head.mlp.out)

    def sapling(self) -> PairForest:
        """A tree of the right sizes that has learnt nothing yet."""
        return PairForest(*self._sizes)

    def own(self, pairs: PairBatch) -> Tensor:
        """What the tree reads of a batch."""
        assert pairs.statistics is not None, "the head reads histories, and batches for it have statistics"
        return pairs.statistics

    def forward(self, pairs: PairBatch, advice: Tensor | None = None) -> Tensor:
        """Logits, [num_pairs].

        Args:
            advice: Logits of other trees, for pairs that the model's own tree was grown from.
        """
        return self.answer(*self.embedded(pairs), pairs.statistics, advice)

    def answer(
        self,
        z_u: Tensor,
        z_v: Tensor,
        e_tilde: Tensor | None,
        statistics: Tensor | None,
        advice: Tensor | None = None,
    ) -> Tensor:
        """Logits of pairs with these embeddings and statistics."""
        own = super().answer(z_u, z_v, e_tilde, statistics)
        return own + self.trust * _heard(self.tree(statistics) if advice is None else advice, own)


class CrossFitted:
    """Trees that were each grown without some of the examples, and advise on those."""

    NUM_TREES = 5

    def __init__(
        self, sapling: Callable[[], FittedAtOnce], subjects: Tensor, rows: Tensor, answers: Tensor, weights: Tensor
    ) -> None:
        """Grow them.

        Args:
            subjects: Whom each row is about, as a number; of somebody's rows, a tree knows all or none.
        """
        self._trees = [sapling() for _ in range(self.NUM_TREES)]
        for number, tree in enumerate(self._trees):
            others = subjects % self.NUM_TREES != number
            tree.fit(rows[others], answers[others], weights[others])

    def advice(self, subjects: Tensor, rows: Tensor) -> Tensor:
        """What trees that don't know the subjects say of their rows."""
        places = [torch.nonzero(subjects % self.NUM_TREES == number).ravel() for number in range(self.NUM_TREES)]
        said = torch.cat([tree(rows[own]) for tree, own in zip(self._trees, places, strict=True)])
        return said[torch.argsort(torch.cat(places))]


def _heard(advice: Tensor, own: Tensor) -> Tensor:
    return advice.to(own).clamp(-_LOUDEST, _LOUDEST)
