"""EGNN (Gong and Cheng 2019), the attention form: one weighted graph for each feature of the edges."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from gtea.config import InputSpec, ModelConfig
from gtea.models.layered import company_of, with_zeros
from gtea.nn.batch import Batch
from gtea.nn.encoders.statistics_encoder import StatisticsEncoder
from gtea.nn.linear import uniform

_SLOPE = 0.2


class EGNNLayer(nn.Module):
    """h'_u = b + || or mean over channels p of sum_{v in S(u) + u} alpha_uvp W h_v.

    alpha_uvp = f_uv E_uvp / sum_{k in S(u) + u} f_uk E_ukp,  f_uv = exp(leaky_relu(a_1 . W h_u + a_2 . W h_v))

    The weights alpha are the next layer's E. Channels stand side by side within the network and are averaged in its
    last layer. Everything is computed as logarithms, in which products of many layers don't vanish.

    Departs from Gong and Cheng: alpha is normalised over a node's neighbours only. Their doubly stochastic form also
    divides by sums over everybody who has the neighbour, which a sample doesn't hold.
    """

    def __init__(self, d_in: int, d_channel: int, num_channels: int, last: bool, generator: torch.Generator) -> None:
        super().__init__()
        self.last = last
        self.w = uniform(d_in, d_channel, bound=d_in**-0.5, generator=generator)
        self.a_target = uniform(d_channel, bound=d_channel**-0.5, generator=generator)
        self.a_neighbour = uniform(d_channel, bound=d_channel**-0.5, generator=generator)
        self.bias = nn.Parameter(torch.zeros(d_channel if last else num_channels * d_channel))

    def forward(self, h: Tensor, company: Tensor, log_e: Tensor) -> tuple[Tensor, Tensor]:
        """Embed the targets anew.

        Args:
            company: Each target's own place, then its neighbours', -1 where there is none: [num_targets, 1 + K].
            log_e: log E of the channels, [num_targets, 1 + K, num_channels]; -inf where there is nobody.

        Returns:
            The embeddings, [num_targets, d_channel * num_channels] or in the last layer [num_targets, d_channel]; and
            log alpha, of the shape of ``log_e``.
        """
        mapped = h @ self.w
        asked = mapped[: len(company)] @ self.a_target
        offered = with_zeros((mapped @ self.a_neighbour)[:, None], company).squeeze(2)
        log_f = functional.leaky_relu(asked[:, None] + offered, _SLOPE)
        log_alpha = (log_f[:, :, None] + log_e).log_softmax(dim=1)
        channels = log_alpha.exp().transpose(1, 2) @ with_zeros(mapped, company)
        return (channels.mean(1) if self.last else channels.flatten(1)) + self.bias, log_alpha


class EGNN(nn.Module):
    """Layers of EGNN with ELU between, a channel for each statistic of GTEA_HE (Appendix 3.2).

    E must be positive and statistics are any numbers: E_uvp = sigmoid(statistic p of the edge). A node's edge to
    itself has E = 1 in every channel: without one, its own features would be lost.
    """

    def __init__(self, config: ModelConfig, spec: InputSpec, generator: torch.Generator) -> None:
        super().__init__()
        self.statistics = StatisticsEncoder(spec.d_event_features)
        self.dropout = nn.Dropout(config.dropout)
        num_channels = self.statistics.d_edge
        inputs = [spec.d_node_features, *[num_channels * config.d_node] * (config.num_layers - 1)]
        self.layers = nn.ModuleList(
            EGNNLayer(d_in, config.d_node, num_channels, depth == config.num_layers - 1, generator)
            for depth, d_in in enumerate(inputs)
        )

    def forward(self, batch: Batch) -> Tensor:
        """The embeddings of the seeds, [num_seeds, d_node]."""
        h = batch.node_features.to(next(self.parameters()).dtype)
        company, log_e = company_of(batch), self._log_e(batch, h)
        for depth, num_targets in enumerate(reversed(batch.num_within[:-1])):
            if depth:
                h = self.dropout(functional.elu(h))
            h, log_e = self.layers[depth](h, company[:num_targets], log_e[:num_targets])
        return h

    def _log_e(self, batch: Batch, like: Tensor) -> Tensor:
        """Log E of each target's edges, its own first, [num_targets, 1 + K, num_channels]."""
        statistics = self.statistics(batch.histories.features.to(like.dtype), batch.histories.offset)
        edges = with_zeros(functional.logsigmoid(statistics), batch.edge)
        edges = edges.masked_fill(batch.edge[:, :, None] < 0, -torch.inf)
        return torch.cat([edges.new_zeros(len(edges), 1, edges.shape[2]), edges], dim=1)
