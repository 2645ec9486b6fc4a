"""TGAT (Xu et al. 2020): attention over single events, each with its neighbour's state just before the event."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from gtea.config import InputSpec, ModelConfig
from gtea.models.layered import gather_padded, layer_widths
from gtea.nn.batch import EventBatch
from gtea.nn.groups import DenseGroups
from gtea.nn.linear import MLP, uniform
from gtea.nn.normalisers import softmax


class FunctionalTime(nn.Module):
    """Phi(t) = sqrt(1 / d) [cos(omega_1 t), sin(omega_1 t), .., cos(omega_d t), sin(omega_d t)], omega learnt.

    As in Time2Vec, omega is in radians per longest period, the initial periods are log-spaced from the longest to the
    shortest, and phases are computed in float64.
    """

    def __init__(self, d_time: int, shortest_period: float, longest_period: float) -> None:
        super().__init__()
        self.longest_period = longest_period
        cycles = torch.logspace(0, math.log10(longest_period / shortest_period), d_time // 2, dtype=torch.float64)
        self.omega = nn.Parameter((2 * math.pi * cycles).float())

    def forward(self, t: Tensor) -> Tensor:
        """Map times [...] to [..., d_time]."""
        phase = (t.double() / self.longest_period)[..., None] * self.omega.double()
        waves = torch.stack([phase.cos(), phase.sin()], dim=-1).flatten(-2)
        return (waves / math.sqrt(len(self.omega))).to(self.omega.dtype)


class TGATLayer(nn.Module):
    """h'_u(t) = FFN([h~ || x_u]), h~ = the concatenated heads of softmax(q K^T / sqrt(d_head)) V.

    q = [h_u(t) || 0 || Phi(0)] W_Q
    row k of K, V = [h_v(t_k) || f_k || Phi(t - t_k)] W_K, W_V, for each sampled event k of u before t, with v at t_k

    A query without events has h~ = 0.
    """

    def __init__(self, d_in: int, config: ModelConfig, spec: InputSpec, generator: torch.Generator) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        width = d_in + spec.d_event_features + config.d_time
        self.w_q, self.w_k, self.w_v = (
            uniform(width, config.d_node, bound=width**-0.5, generator=generator) for _ in range(3)
        )
        self.ffn = MLP(config.d_node + spec.d_node_features, config.d_mlp, config.d_node, config.dropout, generator)

    def forward(self, query: Tensor, events: Tensor, present: Tensor, x: Tensor) -> Tensor:
        """Update the queries' embeddings, [num_queries, d_node].

        Args:
            query: [h_u(t) || 0 || Phi(0)], [num_queries, width].
            events: [h_v(t_k) || f_k || Phi(t - t_k)], [num_queries, K, width].
            present: False in the padding, bool [num_queries, K].
            x: The node features of the queries, [num_queries, d_node_features].
        """
        q = self._heads(query @ self.w_q)
        k = self._heads(events @ self.w_k)
        v = self._heads(events @ self.w_v)
        logit = torch.einsum("qhd,qkhd->qhk", q, k) / math.sqrt(q.shape[-1])
        alpha = softmax(logit, DenseGroups(present[:, None, :].expand_as(logit)))
        joined = torch.einsum("qhk,qkhd->qhd", alpha, v).flatten(1)
        h_new: Tensor = self.ffn(torch.cat([joined, x], dim=-1))
        return h_new

    def _heads(self, rows: Tensor) -> Tensor:
        return rows.view(*rows.shape[:-1], self.num_heads, -1)


class TGAT(nn.Module):
    """Layers of temporal attention over an event batch.

    The node features are those as of the cut for every query: TGAT treats them as constant. Otherwise the state at a
    query's time depends only on events before that time.
    """

    def __init__(self, config: ModelConfig, spec: InputSpec, generator: torch.Generator) -> None:
        super().__init__()
        self.time = FunctionalTime(config.d_time, spec.shortest_period, spec.longest_period)
        self.layers = nn.ModuleList(TGATLayer(d_in, config, spec, generator) for d_in in layer_widths(config, spec))

    def forward(self, batch: EventBatch) -> Tensor:
        """The embeddings of the seeds at the cut, [num_seeds, d_node]."""
        x = batch.node_features.to(self.time.omega.dtype)
        f = batch.event_features.to(x.dtype)
        ages = self.time(batch.age)
        h = x
        for layer, num_queries in zip(self.layers, reversed(batch.num_within[:-1]), strict=True):
            reached = batch.reached[:num_queries]
            events = torch.cat([gather_padded(h, reached), f[:num_queries], ages[:num_queries]], dim=-1)
            h = layer(self._query(h[:num_queries], f.shape[-1]), events, reached >= 0, x[:num_queries])
        return h

    def _query(self, h: Tensor, d_event: int) -> Tensor:
        time_zero = self.time(h.new_zeros(len(h)))
        return torch.cat([h, h.new_zeros(len(h), d_event), time_zero], dim=-1)
