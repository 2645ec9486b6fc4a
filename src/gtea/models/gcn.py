"""GCN (Kipf and Welling 2017) on sampled subgraphs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gtea.config import InputSpec, ModelConfig
from gtea.models.layered import Stack, layer_widths
from gtea.nn.batch import Batch, Slots
from gtea.nn.linear import linear
from gtea.nn.segments import segment_sum


class GCNLayer(nn.Module):
    """h'_u = W sum_{v in N(u) + u} h_v / sqrt(d_u d_v) + b,  d = degree + 1.

    Degrees are those of the graph before the cut. Degrees within a sample would be meaningless: the outermost nodes
    have none. A batch contains the neighbours S(u) of u, so the sum over N(u) is estimated by |N(u)| / |S(u)| times the
    sum over S(u). The estimate is unbiased. If the fan-out covers the degree, it is exact and equals PyG's GCNConv.
    """

    def __init__(self, d_in: int, d_out: int, generator: torch.Generator) -> None:
        super().__init__()
        self.map = linear(d_in, d_out, generator)

    def forward(self, h_target: Tensor, h: Tensor, slots: Slots, degree: Tensor) -> Tensor:
        """Update the targets' embeddings, [num_targets, d_out]."""
        num_targets = len(h_target)
        norm = (degree[: len(h)] + 1).rsqrt()[:, None]
        summed = segment_sum((norm * h).index_select(0, slots.neighbour), slots.target, num_targets)
        sampled = segment_sum(slots.alpha, slots.target, num_targets).clamp(min=1)
        estimate = (degree[:num_targets] / sampled)[:, None] * summed
        h_new: Tensor = self.map(norm[:num_targets] * (estimate + norm[:num_targets] * h_target))
        return h_new


class GCN(Stack):
    """Layers of graph convolution with ReLU between them. Reads node features only."""

    def __init__(self, config: ModelConfig, spec: InputSpec, generator: torch.Generator) -> None:
        layers = [GCNLayer(d_in, config.d_node, generator) for d_in in layer_widths(config, spec)]
        super().__init__(layers, config.dropout)

    def layer_inputs(self, batch: Batch, like: Tensor) -> Tensor:
        """The degrees of the batch's nodes."""
        assert batch.degree is not None, "GCN needs a collator with degrees"
        return batch.degree.to(like.dtype)

    @staticmethod
    def activation(h: Tensor) -> Tensor:
        """ReLU."""
        return torch.relu(h)
