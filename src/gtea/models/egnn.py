"""EGNN (Gong and Cheng 2019), the attention form: one weighted graph per edge feature."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from gtea.config import InputSpec, ModelConfig
from gtea.models.layered import gather_padded, self_and_neighbours
from gtea.nn.batch import Batch
from gtea.nn.encoders.statistics_encoder import StatisticsEncoder
from gtea.nn.linear import uniform

_SLOPE = 0.2


class _EGNNLayer(nn.Module):
    """h'_u = b + || or mean over channels p of sum_{v in S(u) + u} alpha_uvp W h_v.

    alpha_uvp = f_uv E_uvp / sum_{k in S(u) + u} f_uk E_ukp,  f_uv = exp(leaky_relu(a_1 . W h_u + a_2 . W h_v))

    The weights alpha are the next layer's E. Channels are concatenated, and averaged in the last layer. Everything is
    computed in logarithms, so that products over many layers don't vanish.

    Departs from Gong and Cheng: alpha is normalised over a node's neighbours only. Their doubly stochastic form also
    divides by sums over all nodes that share the neighbour, and a sample does not contain them.
    """

    def __init__(self, d_in: int, d_channel: int, num_channels: int, last: bool, generator: torch.Generator) -> None:
        super().__init__()
        self.last = last
        self.w = uniform(d_in, d_channel, bound=d_in**-0.5, generator=generator)
        self.a_target = uniform(d_channel, bound=d_channel**-0.5, generator=generator)
        self.a_neighbour = uniform(d_channel, bound=d_channel**-0.5, generator=generator)
        self.bias = nn.Parameter(torch.zeros(d_channel if last else num_channels * d_channel))

    def forward(self, h: Tensor, neighbours: Tensor, log_e: Tensor) -> tuple[Tensor, Tensor]:
        """Update the targets' embeddings.

        Args:
            neighbours: ``self_and_neighbours`` of the batch, [num_targets, 1 + K].
            log_e: log E of the channels, [num_targets, 1 + K, num_channels]; -inf in the padding.

        Returns:
            The embeddings, [num_targets, d_channel * num_channels] or in the last layer [num_targets, d_channel]; and
            log alpha, of the shape of ``log_e``.
        """
        mapped = h @ self.w
        target_logit = mapped[: len(neighbours)] @ self.a_target
        neighbour_logit = gather_padded((mapped @ self.a_neighbour)[:, None], neighbours).squeeze(2)
        log_f = functional.leaky_relu(target_logit[:, None] + neighbour_logit, _SLOPE)
        log_alpha = (log_f[:, :, None] + log_e).log_softmax(dim=1)
        channels = log_alpha.exp().transpose(1, 2) @ gather_padded(mapped, neighbours)
        return (channels.mean(1) if self.last else channels.flatten(1)) + self.bias, log_alpha


class EGNN(nn.Module):
    """Layers of EGNN with ELU between them, and a channel for each statistic of GTEA_HE (Appendix 3.2).

    E must be positive, and statistics may be negative: E_uvp = sigmoid(statistic p of the edge). Each node has a
    self-loop with E = 1 in every channel; without it, its own features would be lost.
    """

    def __init__(self, config: ModelConfig, spec: InputSpec, generator: torch.Generator) -> None:
        super().__init__()
        self.statistics = StatisticsEncoder(spec.d_event_features)
        self.dropout = nn.Dropout(config.dropout)
        num_channels = self.statistics.d_edge
        inputs = [spec.d_node_features, *[num_channels * config.d_node] * (config.num_layers - 1)]
        self.layers = nn.ModuleList(
            _EGNNLayer(d_in, config.d_node, num_channels, depth == config.num_layers - 1, generator)
            for depth, d_in in enumerate(inputs)
        )

    def forward(self, batch: Batch) -> Tensor:
        """The embeddings of the seeds, [num_seeds, d_node]."""
        h = batch.node_features.to(next(self.parameters()).dtype)
        neighbours, log_e = self_and_neighbours(batch), self._log_e(batch, h)
        for depth, num_targets in enumerate(reversed(batch.num_within[:-1])):
            if depth:
                h = self.dropout(functional.elu(h))
            h, log_e = self.layers[depth](h, neighbours[:num_targets], log_e[:num_targets])
        return h

    def _log_e(self, batch: Batch, like: Tensor) -> Tensor:
        """Log E of each target's self-loop and edges, [num_targets, 1 + K, num_channels]."""
        statistics = self.statistics(batch.histories.features.to(like.dtype), batch.histories.offset)
        edges = gather_padded(functional.logsigmoid(statistics), batch.edge)
        edges = edges.masked_fill(batch.edge[:, :, None] < 0, -torch.inf)
        return torch.cat([edges.new_zeros(len(edges), 1, edges.shape[2]), edges], dim=1)
