"""GraphSAGE (Hamilton, Ying and Leskovec 2017), mean aggregator."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gtea.config import InputSpec, ModelConfig
from gtea.models.layered import Stack, widths
from gtea.nn.batch import Slots
from gtea.nn.linear import linear
from gtea.nn.segments import segment_sum


class GraphSAGELayer(nn.Module):
    """h'_u = W [h_u || mean_{v in S(u)} h_v] + b; the mean over nobody is zero.

    Departs from Hamilton et al.: embeddings are not scaled to length one after each layer. The link head is a dot
    product (Eq. 9 of GTEA), and of unit vectors it could say nothing beyond sigmoid(+-1). PyG's SAGEConv does the same
    by default.
    """

    def __init__(self, d_in: int, d_out: int, generator: torch.Generator) -> None:
        super().__init__()
        self.map = linear(2 * d_in, d_out, generator)

    def forward(self, h_target: Tensor, h: Tensor, slots: Slots, known: None) -> Tensor:
        """Embed the targets anew, [num_targets, d_out]."""
        summed = segment_sum(h.index_select(0, slots.neighbour), slots.target, len(h_target))
        sampled = segment_sum(slots.alpha, slots.target, len(h_target)).clamp(min=1)
        mapped: Tensor = self.map(torch.cat([h_target, summed / sampled[:, None]], dim=-1))
        return mapped


class GraphSAGE(Stack):
    """Layers of GraphSAGE with ReLU between. Node features only."""

    def __init__(self, config: ModelConfig, spec: InputSpec, generator: torch.Generator) -> None:
        layers = [GraphSAGELayer(d_in, config.d_node, generator) for d_in in widths(config, spec)]
        super().__init__(layers, config.dropout)

    @staticmethod
    def activation(h: Tensor) -> Tensor:
        """ReLU."""
        return torch.relu(h)
