"""An aggregation layer whose MLPs are split by their inputs, so that each part is computed as often as it changes.

    hidden_uv = relu(W_z z_v + W_e e_tilde_uv + b_1)
    sum_u     = sum_v alpha_uv hidden_uv
    before_u  = W_own z_u + b_2 + W_sum sum_u + alpha_u b_sum,   W_sum = W_nbr W_1,  alpha_u = sum_v alpha_uv
    z'_u      = W_2 relu(before_u) + b

This is Eq. 6 and 7 with the linear maps in another order, in float64.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gtea.nn.model import AggregationLayer


class SplitLayer:
    """One layer."""

    def __init__(self, layer: AggregationLayer, d_in: int) -> None:
        first, second = layer.mlp_1, layer.mlp_2
        weights = (first.into.weight, first.into.bias, first.out.weight, first.out.bias)
        w_1, self._b_1, w_hidden, b_hidden = (each.detach().double().cpu() for each in weights)
        weights = (second.into.weight, second.into.bias, second.out.weight, second.out.bias)
        w_2, self._b_2, self._w_out, self._b_out = (each.detach().double().cpu() for each in weights)
        self._w_z, self._w_e = w_1[:, :d_in], w_1[:, d_in:]
        self._w_own, w_nbr = w_2[:, :d_in], w_2[:, d_in:]
        self._w_sum, self._b_sum = w_nbr @ w_hidden, w_nbr @ b_hidden

    def of_node(self, z: Tensor) -> Tensor:
        """The part of hidden units that comes from the neighbour."""
        return z @ self._w_z.T

    def of_edge(self, e_tilde: Tensor) -> Tensor:
        """The part that comes from the edge."""
        return e_tilde @ self._w_e.T + self._b_1

    def before(self, z: Tensor, total: Tensor, weight: Tensor) -> Tensor:
        """The units before the last activation, given a node's own z, the sum of hidden units and of weights."""
        return z @ self._w_own.T + self.of_sum(total) + self._b_2 + torch.outer(weight, self._b_sum)

    def of_sum(self, total: Tensor) -> Tensor:
        """The part of these units that comes from the sum of hidden units."""
        return total @ self._w_sum.T

    def out(self, before: Tensor) -> Tensor:
        """The new z."""
        return torch.relu(before) @ self._w_out.T + self._b_out

    def out_to(self, layer: SplitLayer, before: Tensor) -> Tensor:
        """``layer.of_node`` of the new z: two products in one."""
        return torch.relu(before) @ (layer._w_z @ self._w_out).T + layer._w_z @ self._b_out


def split_layers(layers: list[AggregationLayer]) -> list[SplitLayer]:
    """Split the layers of a network."""
    return [SplitLayer(layer, layer.mlp_2.into.in_features - layer.mlp_1.out.out_features) for layer in layers]
