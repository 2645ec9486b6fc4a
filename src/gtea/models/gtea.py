"""A network for node classification: GTEA and its head, trained together."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gtea.config import InputSpec, ModelConfig
from gtea.nn.batch import Batch, PairBatch
from gtea.nn.heads import NodeHead, link_head
from gtea.nn.model import GTEA


class GTEANodeClassifier(nn.Module):
    """Class logits of the seeds of a batch. The weights are a pure function of sizes and seed."""

    def __init__(self, config: ModelConfig, spec: InputSpec, num_classes: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.gtea = GTEA(config, spec, generator)
        self.head = NodeHead(config, num_classes, generator, spec.d_head_inputs, spec.d_neighbour_labels)

    @property
    def embedder(self) -> GTEA:
        """What makes the embeddings that the head reads."""
        return self.gtea

    def forward(self, batch: Batch) -> Tensor:
        """Logits, [num_seeds, num_classes]."""
        return self.answer(self.gtea(batch), batch.node_features[: batch.num_within[0]], batch.head_inputs)

    def answer(self, z: Tensor, x: Tensor, head_inputs: Tensor | None) -> Tensor:
        """Logits of nodes with these embeddings and features; the features themselves are looked at by others."""
        logits: Tensor = self.head(z, head_inputs)
        return logits


class GTEALinkNetwork(nn.Module):
    """Link logits of pairs, Eq. 9 or a head beyond it. The weights are a pure function of sizes and seed."""

    def __init__(self, config: ModelConfig, spec: InputSpec, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.gtea = GTEA(config, spec, generator)
        self.head = link_head(config, self.gtea.edge_encoder.d_edge, spec.d_pair_statistics, generator)

    @property
    def reads_history(self) -> bool:
        """Whether batches must hold the pairs' own histories."""
        return self.head.reads_history

    def forward(self, pairs: PairBatch) -> Tensor:
        """Logits, [num_pairs]."""
        return self.answer(*self.embedded(pairs), pairs.statistics)

    def embedded(self, pairs: PairBatch) -> tuple[Tensor, Tensor, Tensor | None]:
        """The embeddings of both ends and, where it is read, of what they did together."""
        z = self.gtea(pairs.batch)
        e_tilde = None if pairs.histories is None else self.gtea.edge_encoder.embed(pairs.histories)
        return z[pairs.src], z[pairs.dst], e_tilde

    def answer(self, z_u: Tensor, z_v: Tensor, e_tilde: Tensor | None, statistics: Tensor | None) -> Tensor:
        """Logits of pairs with these embeddings and statistics."""
        logits: Tensor = self.head(z_u, z_v, e_tilde, statistics)
        return logits
