"""A network for node classification: GTEA and its head, trained together."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gtea.config import InputSpec, ModelConfig
from gtea.nn.batch import Batch
from gtea.nn.heads import NodeHead
from gtea.nn.model import GTEA


class NodeClassifier(nn.Module):
    """Class logits of the seeds of a batch. The weights are a pure function of sizes and seed."""

    def __init__(self, config: ModelConfig, spec: InputSpec, num_classes: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.gtea = GTEA(config, spec, generator)
        self.head = NodeHead(config, num_classes, generator, spec.d_ranks, spec.d_known)

    @property
    def embedder(self) -> GTEA:
        """What makes the embeddings that the head reads."""
        return self.gtea

    def forward(self, batch: Batch) -> Tensor:
        """Logits, [num_seeds, num_classes]."""
        return self.answer(self.gtea(batch), batch.node_features[: batch.num_within[0]], batch.ranks)

    def answer(self, z: Tensor, x: Tensor, ranks: Tensor | None) -> Tensor:
        """Logits of nodes with these embeddings and features; the features themselves are looked at by others."""
        logits: Tensor = self.head(z, ranks)
        return logits
