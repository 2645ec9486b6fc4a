"""What the layered baselines have in common: L layers over the hops of a batch, outermost first.

Each layer renews the embeddings of a prefix of the batch's nodes from those of a longer one, along the sampled slots:
exactly what GTEA's layers do, with the same samples. Between layers stands an activation; the last layer's output is
the embedding that the head reads, as GTEA's is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from gtea.config import InputSpec, ModelConfig
from gtea.nn.batch import Batch, EventBatch, PairBatch, Slots
from gtea.nn.heads import DotHead, NodeHead


class Stack(nn.Module, ABC):
    """Layers, and between them an activation and, while training, dropout."""

    def __init__(self, layers: Sequence[nn.Module], dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: Batch) -> Tensor:
        """The embeddings of the seeds, [num_seeds, d_node]."""
        h = batch.node_features.to(next(self.parameters()).dtype)
        slots, known = sampled_slots(batch, h), self.known(batch, h)
        for depth, num_targets in enumerate(reversed(batch.num_within[:-1])):
            if depth:
                h = self.dropout(self.activation(h))
            h = self.layers[depth](h[:num_targets], h, slots.first(num_targets), known)
        return h

    def known(self, batch: Batch, like: Tensor) -> Tensor | None:
        """What layers read of a batch besides node embeddings and slots, in the precision of ``like``."""
        return None

    @staticmethod
    @abstractmethod
    def activation(h: Tensor) -> Tensor:
        """What stands between the layers."""


def sampled_slots(batch: Batch, like: Tensor) -> Slots:
    """Every sampled neighbour of every target, all of weight one."""
    return Slots.of_batch(batch, (batch.edge >= 0).to(like.dtype))


def company_of(batch: Batch) -> Tensor:
    """Each target's own place, then its neighbours', -1 where there is none: [num_targets, 1 + K]."""
    own = torch.arange(len(batch.neighbour), device=batch.neighbour.device)
    return torch.cat([own[:, None], batch.neighbour], dim=1)


def widths(config: ModelConfig, spec: InputSpec) -> list[int]:
    """The width of what each layer reads: node features, then embeddings."""
    return [spec.d_node_features, *[config.d_node] * (config.num_layers - 1)]


def with_zeros(rows: Tensor, places: Tensor) -> Tensor:
    """The rows at some places, zeros where a place is -1: [*places.shape, width]."""
    padded = torch.cat([rows, rows.new_zeros(1, rows.shape[1])])
    chosen = torch.where(places < 0, len(rows), places)
    return padded.index_select(0, chosen.flatten()).view(*places.shape, rows.shape[1])


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
        self.head = NodeHead(config, num_classes, generator, spec.d_head_inputs, spec.d_neighbour_labels)

    def forward(self, batch: Batch | EventBatch) -> Tensor:
        """Logits, [num_seeds, num_classes]."""
        logits: Tensor = self.head(self.embedder(batch), batch.head_inputs)
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
