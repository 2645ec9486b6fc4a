"""What the layered baselines share: L layers over the hops of a batch, outermost first.

Each layer updates the embeddings of a prefix of the batch's nodes from those of a longer prefix, along the sampled
slots, as GTEA's layers do and with the same samples. There is an activation between layers. The output of the last
layer is the embedding that the head reads.
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
    """Layers with an activation and dropout between them."""

    def __init__(self, layers: Sequence[nn.Module], dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: Batch) -> Tensor:
        """The embeddings of the seeds, [num_seeds, d_node]."""
        h = batch.node_features.to(next(self.parameters()).dtype)
        slots, layer_inputs = sampled_slots(batch, h), self.layer_inputs(batch, h)
        for depth, num_targets in enumerate(reversed(batch.num_within[:-1])):
            if depth:
                h = self.dropout(self.activation(h))
            h = self.layers[depth](h[:num_targets], h, slots.first(num_targets), layer_inputs)
        return h

    def layer_inputs(self, batch: Batch, like: Tensor) -> Tensor | None:
        """What the layers read in addition to embeddings and slots, in the precision of ``like``."""
        return None

    @staticmethod
    @abstractmethod
    def activation(h: Tensor) -> Tensor:
        """The activation between layers."""


class Build(Protocol):
    """Builds a module that embeds the seeds of a batch, with initial weights from the generator."""

    def __call__(self, config: ModelConfig, spec: InputSpec, generator: torch.Generator) -> nn.Module:
        """The module: from a batch to [num_seeds, d_node]."""


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


def sampled_slots(batch: Batch, like: Tensor) -> Slots:
    """All sampled neighbours of all targets, with weight one."""
    return Slots.of_batch(batch, (batch.edge >= 0).to(like.dtype))


def self_and_neighbours(batch: Batch) -> Tensor:
    """The index of each target, then those of its neighbours, padded with -1: [num_targets, 1 + K]."""
    target = torch.arange(len(batch.neighbour), device=batch.neighbour.device)
    return torch.cat([target[:, None], batch.neighbour], dim=1)


def layer_widths(config: ModelConfig, spec: InputSpec) -> list[int]:
    """The input width of each layer: node features, then embeddings."""
    return [spec.d_node_features, *[config.d_node] * (config.num_layers - 1)]


def gather_padded(rows: Tensor, index: Tensor) -> Tensor:
    """The rows at some indices, zeros for the index -1: [*index.shape, width]."""
    padded = torch.cat([rows, rows.new_zeros(1, rows.shape[1])])
    chosen = torch.where(index < 0, len(rows), index)
    return padded.index_select(0, chosen.flatten()).view(*index.shape, rows.shape[1])
