"""One layer of temporal edge aggregation."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gtea.nn.mlp import MLP
from gtea.nn.segments import run_sum
from gtea.nn.slots import Slots


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
