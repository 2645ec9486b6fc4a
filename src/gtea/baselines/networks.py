"""The networks of the layered baselines: their embeddings under the very heads that GTEA has."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from gtea.config import InputSpec, ModelConfig
from gtea.nn.batch import Batch, EventBatch, PairBatch
from gtea.nn.heads import DotHead, NodeHead


class Build(Protocol):
    """Makes what embeds the seeds of a batch; its weights are a pure function of the sizes and the generator."""

    def __call__(self, config: ModelConfig, spec: InputSpec, generator: torch.Generator) -> nn.Module:
        """The module: a batch in, [num_seeds, d_node] out."""


class BaselineClassifier(nn.Module):
    """Class logits of the seeds of a batch, Eq. 8."""

    def __init__(self, build: Build, config: ModelConfig, spec: InputSpec, num_classes: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.embedder = build(config, spec, generator)
        self.head = NodeHead(config, num_classes, generator, spec.d_ranks, spec.d_known)

    def forward(self, batch: Batch | EventBatch) -> Tensor:
        """Logits, [num_seeds, num_classes]."""
        logits: Tensor = self.head(self.embedder(batch), batch.ranks)
        return logits


class BaselinePredictor(nn.Module):
    """Link logits of pairs, Eq. 9."""

    def __init__(self, build: Build, config: ModelConfig, spec: InputSpec, seed: int) -> None:
        super().__init__()
        self.embedder = build(config, spec, torch.Generator().manual_seed(seed))
        self.head = DotHead()

    def forward(self, pairs: PairBatch) -> Tensor:
        """Logits, [num_pairs]."""
        z = self.embedder(pairs.batch)
        logits: Tensor = self.head(z[pairs.src], z[pairs.dst])
        return logits
