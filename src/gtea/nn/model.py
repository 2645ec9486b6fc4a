"""GTEA: from a batch to the embeddings of its seeds, and one layer of temporal edge aggregation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gtea.config import InputSpec, ModelConfig
from gtea.nn.batch import Batch, Slots
from gtea.nn.edge_encoder import EdgeEncoder
from gtea.nn.groups import DenseGroups
from gtea.nn.linear import MLP
from gtea.nn.normalisers import Normaliser
from gtea.nn.segments import segment_sum


@dataclass(frozen=True)
class Embedding:
    """The embeddings of a batch and the attention weights."""

    z: Tensor  # [num_seeds, d_node]
    alpha: Tensor  # [num_targets, K]: the weight of each sampled neighbour, zero in the padding


class GTEA(nn.Module):
    """Algorithm 2: encode the edges, compute the attention weights, aggregate L times.

    Algorithm 2 computes e_tilde and alpha inside the loop over layers, but nothing in them depends on the layer. Here
    they are computed once per batch, each distinct edge once. Each layer has its own MLP_1 and MLP_2.

    z^(0) = x or, beyond the paper, x clipped to a limit. If nodes have no features, x has width 0: the first layer then
    reads edges only, and all nodes without neighbours get the same embedding.

    The initial weights are a pure function of the sizes and the generator's state.
    """

    def __init__(self, config: ModelConfig, spec: InputSpec, generator: torch.Generator) -> None:
        super().__init__()
        self.node_limit = config.node_limit
        self.edge_encoder = EdgeEncoder(config, spec, generator)
        self.normaliser = Normaliser(config.attention)
        self.layers = nn.ModuleList(
            AggregationLayer(
                config.d_node if depth else spec.d_node_features,
                self.edge_encoder.d_edge,
                config.d_node,
                config.d_mlp,
                config.dropout,
                generator,
            )
            for depth in range(config.num_layers)
        )

    def forward(self, batch: Batch) -> Tensor:
        """The embeddings of the seeds, [num_seeds, d_node]."""
        return self.embed(batch).z

    def embed(self, batch: Batch) -> Embedding:
        """The embeddings of the seeds, and the attention weights."""
        e_tilde, alpha_tilde = self.edge_encoder(batch.histories)
        alpha = self._attend(alpha_tilde, batch.edge)
        x = batch.node_features.to(alpha.dtype)
        return Embedding(self.aggregate(x, e_tilde, Slots.of_batch(batch, alpha), batch.num_within), alpha)

    def aggregate(self, x: Tensor, e_tilde: Tensor, slots: Slots, num_within: Sequence[int]) -> Tensor:
        """Run the layers, outermost hop first.

        Args:
            num_within: As in a batch. For a whole graph, where every layer updates every node, it is
                ``[num_nodes] * (num_layers + 1)``.
        """
        z = self.initial_embeddings(x)
        for layer, num_targets in zip(self.layers, reversed(num_within[:-1]), strict=True):
            z = layer(z[:num_targets], z, e_tilde, slots.first(num_targets))
        return z

    def initial_embeddings(self, x: Tensor) -> Tensor:
        """z^(0) of nodes with features x."""
        return x.clamp(-self.node_limit, self.node_limit) if self.node_limit else x

    def _attend(self, alpha_tilde: Tensor, edge: Tensor) -> Tensor:
        """Eq. 5 over each target's sampled neighbours, [num_targets, K]."""
        # The index -1 of the padding reads the zero at the end; the mask excludes it from the weights.
        logit = torch.cat([alpha_tilde, alpha_tilde.new_zeros(1)])[edge]
        alpha: Tensor = self.normaliser(logit, DenseGroups(edge >= 0))
        return alpha


class AggregationLayer(nn.Module):
    """Eq. 6 and 7: update a node's embedding from its own, its neighbours' and its edges' embeddings.

    z_nbr_u = sum_{v in N(u)} alpha_uv MLP_1([z_v || e_tilde_uv])
    z'_u    = MLP_2([z_u || z_nbr_u])

    A node without neighbours has z_nbr = 0. Mini-batches and whole graphs use the same code: both are slots.
    """

    def __init__(
        self, d_in: int, d_edge: int, d_out: int, d_mlp: int, dropout: float, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.mlp_1 = MLP(d_in + d_edge, d_mlp, d_out, dropout, generator)
        self.mlp_2 = MLP(d_in + d_out, d_mlp, d_out, dropout, generator)

    def forward(self, z_target: Tensor, z: Tensor, e_tilde: Tensor, slots: Slots) -> Tensor:
        """Update the targets' embeddings.

        Args:
            z_target: The targets' own embeddings, [num_targets, d_in].
            z: The node embeddings, indexed by ``slots.neighbour``, [num_nodes, d_in].
            e_tilde: The edge embeddings, indexed by ``slots.edge``, [num_edges, d_edge].

        Returns:
            [num_targets, d_out].
        """
        joined = torch.cat([z.index_select(0, slots.neighbour), e_tilde.index_select(0, slots.edge)], dim=-1)
        z_nbr = segment_sum(slots.alpha[:, None] * self.mlp_1(joined), slots.target, len(z_target))
        z_new: Tensor = self.mlp_2(torch.cat([z_target, z_nbr], dim=-1))
        return z_new
