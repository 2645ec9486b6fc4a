"""ECConv (Simonovsky and Komodakis 2017): each edge's features determine the matrix applied to its neighbour."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gtea.config import InputSpec, ModelConfig
from gtea.models.layered import Stack, layer_widths
from gtea.nn.batch import Batch, Slots
from gtea.nn.encoders.statistics_encoder import StatisticsEncoder
from gtea.nn.linear import linear
from gtea.nn.segments import segment_sum


class ECConvLayer(nn.Module):
    """h'_u = Theta h_u + b + mean_{v in S(u)} F(e_uv) h_v,  F(e) = the matrix of W_2 relu(W_1 e + b_1) + b_2.

    Simonovsky and Komodakis count u among its own neighbours, with a special label on the loop. Such a label always
    gives the same matrix: here it is Theta, as in PyG's NNConv, and is not divided by the number of neighbours.

    The matrices are never materialised. With H hidden units, F(e) h = M (relu(..) x h) is one matrix product with the
    outer product of hidden units and neighbour, H d_in numbers per edge. The mean is taken over these, so that M is
    multiplied once per target and not once per edge.
    """

    def __init__(self, d_in: int, d_edge: int, d_out: int, d_hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        self.root = linear(d_in, d_out, generator)
        self.into = linear(d_edge, d_hidden, generator)
        self.filter = linear(d_hidden, d_out * d_in, generator)

    def forward(self, h_target: Tensor, h: Tensor, slots: Slots, statistics: Tensor) -> Tensor:
        """Update the targets' embeddings, [num_targets, d_out].

        Args:
            statistics: The statistics of each edge, indexed by ``slots.edge``, [num_edges, d_edge].
        """
        neighbour = h.index_select(0, slots.neighbour)
        hidden = torch.relu(self.into(statistics.index_select(0, slots.edge)))
        sampled = segment_sum(slots.alpha, slots.target, len(h_target)).clamp(min=1)
        total = self._filtered(hidden, neighbour, slots.target, len(h_target))
        h_new: Tensor = self.root(h_target) + total / sampled[:, None]
        return h_new

    def _filtered(self, hidden: Tensor, neighbour: Tensor, target: Tensor, num_targets: int) -> Tensor:
        """The sum of F(e) h over each target's slots, [num_targets, d_out]."""
        d_hidden, d_in = hidden.shape[1], neighbour.shape[1]
        d_out = len(self.root.bias)
        outer = torch.bmm(_table(hidden, target, num_targets).mT, _table(neighbour, target, num_targets))
        product = self.filter.weight.view(d_out, d_in, d_hidden).transpose(1, 2).reshape(d_out, d_hidden * d_in)
        neighbour_sum = segment_sum(neighbour, target, num_targets)
        return outer.view(num_targets, -1) @ product.T + neighbour_sum @ self.filter.bias.view(d_out, d_in).T


def _table(rows: Tensor, target: Tensor, num_targets: int) -> Tensor:
    """Rows that are ordered by target as a table, padded with zeros. Sampled targets have few rows."""
    count = torch.bincount(target, minlength=num_targets)
    column = torch.arange(len(target), device=target.device) - (count.cumsum(0) - count)[target]
    width = int(count.max()) if num_targets else 0
    table = rows.new_zeros(num_targets * width, rows.shape[1])
    return table.index_copy(0, target * width + column, rows).view(num_targets, width, rows.shape[1])


class ECConv(Stack):
    """Layers of edge-conditioned convolution with ReLU between them, on the statistics of GTEA_HE (Appendix 3.2)."""

    def __init__(self, config: ModelConfig, spec: InputSpec, generator: torch.Generator) -> None:
        statistics = StatisticsEncoder(spec.d_event_features)
        layers = [
            ECConvLayer(d_in, statistics.d_edge, config.d_node, config.d_mlp, generator)
            for d_in in layer_widths(config, spec)
        ]
        super().__init__(layers, config.dropout)
        self.statistics = statistics

    def layer_inputs(self, batch: Batch, like: Tensor) -> Tensor:
        """The statistics of each history."""
        rows: Tensor = self.statistics(batch.histories.features.to(like.dtype), batch.histories.offset)
        return rows

    @staticmethod
    def activation(h: Tensor) -> Tensor:
        """ReLU."""
        return torch.relu(h)
