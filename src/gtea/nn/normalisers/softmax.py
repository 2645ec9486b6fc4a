"""Softmax over groups: the dense attention of the paper's ablation, and of the Transformer's heads."""

from __future__ import annotations

from torch import Tensor

from gtea.nn.normalisers.closed_form import with_gradient
from gtea.nn.normalisers.groups import Groups


def softmax_weights(z: Tensor, groups: Groups) -> Tensor:
    """p_i = exp(z_i) / sum_j exp(z_j); zero in a gap."""
    weight = groups.below_largest(z).exp()
    # The largest contributes exp(0): only a group of gaps sums to less than one.
    return weight / groups.total(weight).clamp(min=1)


def softmax_gradient(p: Tensor, grad: Tensor, groups: Groups) -> Tensor:
    """The gradient by z, given the one by p: p * (grad - sum(p grad))."""
    return p * (grad - groups.total(p * grad))


def softmax(z: Tensor, groups: Groups) -> Tensor:
    """Positive weights that sum to one in each group."""
    return with_gradient(z, groups, softmax_weights, softmax_gradient)
