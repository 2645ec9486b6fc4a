"""GAT (Velickovic et al. 2018) on sampled subgraphs."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from gtea.config import InputSpec, ModelConfig
from gtea.models.layered import Stack, gather_padded, layer_widths, self_and_neighbours
from gtea.nn.batch import Batch, Slots
from gtea.nn.linear import uniform

_SLOPE = 0.2


class GATLayer(nn.Module):
    """h'_u = b + || or mean over heads of sum_{v in S(u) + u} alpha_uv W h_v.

    alpha_uv = softmax_v(leaky_relu(a_1 . W h_u + a_2 . W h_v))

    Heads are concatenated, and averaged in the last layer.
    """

    def __init__(self, d_in: int, d_out: int, num_heads: int, last: bool, generator: torch.Generator) -> None:
        super().__init__()
        self.last = last
        d_head = d_out if last else d_out // num_heads
        self.w = uniform(num_heads, d_in, d_head, bound=d_in**-0.5, generator=generator)
        self.a_target = uniform(num_heads, d_head, bound=d_head**-0.5, generator=generator)
        self.a_neighbour = uniform(num_heads, d_head, bound=d_head**-0.5, generator=generator)
        self.bias = nn.Parameter(torch.zeros(d_out))

    def forward(self, h_target: Tensor, h: Tensor, slots: Slots, neighbours: Tensor) -> Tensor:
        """Update the targets' embeddings, [num_targets, d_out].

        Args:
            neighbours: ``self_and_neighbours`` of the batch, [.., 1 + K].
        """
        neighbours = neighbours[: len(h_target)]
        mapped = torch.einsum("nd,hde->nhe", h, self.w)
        num_heads, d_head = mapped.shape[1:]
        target_logit = (mapped[: len(neighbours)] * self.a_target).sum(-1)
        neighbour_logit = gather_padded((mapped * self.a_neighbour).sum(-1), neighbours)
        logit = functional.leaky_relu(target_logit[:, None] + neighbour_logit, _SLOPE)
        alpha = logit.masked_fill(neighbours[:, :, None] < 0, -torch.inf).softmax(dim=1)
        values = gather_padded(mapped.flatten(1), neighbours).view(*neighbours.shape, num_heads, d_head)
        heads = (alpha[..., None] * values).sum(1)
        return (heads.mean(1) if self.last else heads.flatten(1)) + self.bias


class GAT(Stack):
    """Layers of graph attention with ELU between them. Reads node features only."""

    def __init__(self, config: ModelConfig, spec: InputSpec, generator: torch.Generator) -> None:
        layers = [
            GATLayer(d_in, config.d_node, config.num_heads, depth == config.num_layers - 1, generator)
            for depth, d_in in enumerate(layer_widths(config, spec))
        ]
        super().__init__(layers, config.dropout)

    def layer_inputs(self, batch: Batch, like: Tensor) -> Tensor:
        """The index of each target and of its neighbours."""
        return self_and_neighbours(batch)

    @staticmethod
    def activation(h: Tensor) -> Tensor:
        """ELU."""
        return functional.elu(h)
