"""GTEA: the whole model, from a batch to the embeddings of its seeds."""

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
from gtea.nn.segments import run_sum


@dataclass(frozen=True)
class Embedding:
    """What a batch becomes."""

    z: Tensor  # [num_seeds, d_node]
    alpha: Tensor  # [num_targets, K]: the weight of each sampled neighbour, zero where there is none


class GTEA(nn.Module):
    """Algorithm 2: encode the edges, weigh the neighbours, aggregate L times.

    e_tilde and alpha stand inside the loop of Algorithm 2, but nothing in them depends on the layer: they are
    computed once per batch, each distinct edge once, and serve every layer. MLP_1 and MLP_2 are each layer's own.

    z^(0) = x, as it is or, beyond the paper, held within a limit. Where nodes have no features x has width 0: the first
    layer then sees edges only, and a node without neighbours gets the same embedding as every other such node.

    The weights are a pure function of the sizes and the generator's state.
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
        """The embeddings of the seeds and the attention that led to them."""
        e_tilde, alpha_tilde = self.edge_encoder(batch.histories)
        alpha = self._attend(alpha_tilde, batch.edge)
        x = batch.node_features.to(alpha.dtype)
        return Embedding(self.aggregate(x, e_tilde, Slots.of_batch(batch, alpha), batch.num_within), alpha)

    def aggregate(self, x: Tensor, e_tilde: Tensor, slots: Slots, num_within: Sequence[int]) -> Tensor:
        """Run the layers, outermost hop first.

        Args:
            num_within: As in a batch. A whole graph, in which every layer renews every node, is
                ``[num_nodes] * (num_layers + 1)``.
        """
        z = self.first(x)
        for layer, num_targets in zip(self.layers, reversed(num_within[:-1]), strict=True):
            z = layer(z[:num_targets], z, e_tilde, slots.first(num_targets))
        return z

    def first(self, x: Tensor) -> Tensor:
        """z^(0) of nodes with these features."""
        return x.clamp(-self.node_limit, self.node_limit) if self.node_limit else x

    def _attend(self, alpha_tilde: Tensor, edge: Tensor) -> Tensor:
        """Eq. 5 over each target's sampled neighbours, [num_targets, K]."""
        # Where there is no neighbour, -1 reads the zero at the end; the mask keeps it out of the weights.
        logit = torch.cat([alpha_tilde, alpha_tilde.new_zeros(1)])[edge]
        alpha: Tensor = self.normaliser(logit, DenseGroups(edge >= 0))
        return alpha


class AggregationLayer(nn.Module):
    """Eq. 6 and 7: a node's new embedding from its old one, its neighbours' and its edges'.

    z_nbr_u = sum_{v in N(u)} alpha_uv MLP_1([z_v || e_tilde_uv])
    z'_u    = MLP_2([z_u || z_nbr_u])

    A node without neighbours has z_nbr = 0. Mini-batches and whole graphs go the same way: both are slots.
    """

    def __init__(
        self, d_in: int, d_edge: int, d_out: int, d_mlp: int, dropout: float, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.mlp_1 = MLP(d_in + d_edge, d_mlp, d_out, dropout, generator)
        self.mlp_2 = MLP(d_in + d_out, d_mlp, d_out, dropout, generator)

    def forward(self, z_target: Tensor, z: Tensor, e_tilde: Tensor, slots: Slots) -> Tensor:
        """Embed the targets anew.

        Args:
            z_target: The targets' own embeddings, [num_targets, d_in].
            z: The embeddings that ``slots.neighbour`` counts in, [num_nodes, d_in].
            e_tilde: The edge embeddings that ``slots.edge`` counts in, [num_edges, d_edge].

        Returns:
            [num_targets, d_out].
        """
        joined = torch.cat([z.index_select(0, slots.neighbour), e_tilde.index_select(0, slots.edge)], dim=-1)
        z_nbr = run_sum(slots.alpha[:, None] * self.mlp_1(joined), slots.target, len(z_target))
        z_new: Tensor = self.mlp_2(torch.cat([z_target, z_nbr], dim=-1))
        return z_new
