"""GraphSAGE (Hamilton, Ying and Leskovec 2017), mean aggregator."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gtea.config import InputSpec, ModelConfig
from gtea.models.layered import Stack, layer_widths
from gtea.nn.batch import Slots
from gtea.nn.linear import linear
from gtea.nn.segments import segment_sum


class GraphSAGELayer(nn.Module):
    """h'_u = W [h_u || mean_{v in S(u)} h_v] + b; the mean is zero for a node without neighbours.

    Departs from Hamilton et al.: embeddings are not scaled to length one after each layer. The link head is a dot
    product (Eq. 9 of GTEA), and with unit vectors its probabilities could not leave the range of sigmoid(-1) to
    sigmoid(1). PyG's SAGEConv does the same by default.
    """

    def __init__(self, d_in: int, d_out: int, generator: torch.Generator) -> None:
        super().__init__()
        self.map = linear(2 * d_in, d_out, generator)

    def forward(self, h_target: Tensor, h: Tensor, slots: Slots, layer_inputs: None) -> Tensor:
        """Update the targets' embeddings, [num_targets, d_out]."""
        summed = segment_sum(h.index_select(0, slots.neighbour), slots.target, len(h_target))
        sampled = segment_sum(slots.alpha, slots.target, len(h_target)).clamp(min=1)
        h_new: Tensor = self.map(torch.cat([h_target, summed / sampled[:, None]], dim=-1))
        return h_new


class GraphSAGE(Stack):
    """Layers of GraphSAGE with ReLU between them. Reads node features only."""

    def __init__(self, config: ModelConfig, spec: InputSpec, generator: torch.Generator) -> None:
        layers = [GraphSAGELayer(d_in, config.d_node, generator) for d_in in layer_widths(config, spec)]
        super().__init__(layers, config.dropout)

    @staticmethod
    def activation(h: Tensor) -> Tensor:
        """ReLU."""
        return torch.relu(h)
