"""A normaliser as torch sees it: weights forward, the gradient in closed form backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from gtea.config import Attention
from gtea.nn.groups import Groups

Weights = Callable[[Tensor, Groups], Tensor]
"""From logits z to weights p."""

Gradient = Callable[[Tensor, Tensor, Groups], Tensor]
"""From the weights p and the gradient by p to the gradient by z."""

ThresholdRule = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From the size, the sum and the sum of squares of a support to its threshold."""


class ClosedForm(torch.autograd.Function):
    """Keeps nothing but the weights for the way back; sorting and gaps never meet autograd."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, groups: Groups, weights: Weights, gradient: Gradient) -> Tensor:
        """The weights p."""
        p = weights(z, groups)
        ctx.groups, ctx.gradient = groups, gradient
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, None, None, None]:
        """The gradient by z."""
        (p,) = ctx.saved_tensors
        return ctx.gradient(p, grads[0], ctx.groups), None, None, None


def with_gradient(z: Tensor, groups: Groups, weights: Weights, gradient: Gradient) -> Tensor:
    """The weights of z, with the given gradient behind them."""
    p: Tensor = ClosedForm.apply(z, groups, weights, gradient)  # type: ignore[no-untyped-call]
    return p


def find_threshold(shifted: Tensor, groups: Groups, rule: ThresholdRule) -> Tensor:
    """The threshold of each group: that of the largest k values, for the largest k whose k-th value is above it.

    Args:
        shifted: Values of which each group's largest is 0. What is far below can't be in the support (the threshold
            is at least -1) and is cut at -2, which keeps every sum small, however large the logits are.
    """
    ranked = groups.ranked(shifted.clamp(min=-2))
    inside = rule(ranked.rank, ranked.total, ranked.total_of_squares) < ranked.value
    # Summed again over the support alone: running sums over a large graph carry the rounding of all that went before.
    support = torch.where(inside, ranked.value, 0)
    size = groups.total(inside.to(support.dtype))
    return rule(size, groups.total(support), groups.total(support.square()))


def sparsemax_weights(z: Tensor, groups: Groups) -> Tensor:
    """The weights p of Algorithm 1; zero in a gap."""
    shifted = groups.below_largest(z)
    return (shifted - find_threshold(shifted, groups, _gamma)).clamp(min=0).to(z.dtype)


def sparsemax_gradient(p: Tensor, grad: Tensor, groups: Groups) -> Tensor:
    """The gradient by z, given the one by p: on the support, less its mean there; elsewhere zero."""
    support = (p > 0).to(grad.dtype)
    mean = groups.total(grad * support) / groups.total(support).clamp(min=1)
    return support * (grad - mean)


def _gamma(size: Tensor, total: Tensor, total_of_squares: Tensor) -> Tensor:
    return (total - 1) / size


def sparsemax(z: Tensor, groups: Groups) -> Tensor:
    """Non-negative weights that sum to one in each group, many of them exactly zero."""
    return with_gradient(z, groups, sparsemax_weights, sparsemax_gradient)


def entmax15_weights(z: Tensor, groups: Groups) -> Tensor:
    """The weights p; zero in a gap."""
    shifted = groups.below_largest(z / 2)
    return (shifted - find_threshold(shifted, groups, _tau)).clamp(min=0).square().to(z.dtype)


def entmax15_gradient(p: Tensor, grad: Tensor, groups: Groups) -> Tensor:
    """The gradient by z: s * (grad - sum(s grad) / sum(s)) with s = sqrt(p)."""
    s = p.sqrt()
    total = groups.total(s)
    # Where a target has no neighbour, all of s is zero and any divisor will do.
    mean = groups.total(grad * s) / torch.where(total > 0, total, 1)
    return s * (grad - mean)


def _tau(size: Tensor, total: Tensor, total_of_squares: Tensor) -> Tensor:
    mean = total / size
    spread = total_of_squares - total * mean
    # Beyond the support the root may be of a negative number; the mean alone is then a threshold that nothing passes.
    return mean - ((1 - spread) / size).clamp(min=0).sqrt()


def entmax15(z: Tensor, groups: Groups) -> Tensor:
    """Non-negative weights that sum to one in each group, some of them exactly zero."""
    return with_gradient(z, groups, entmax15_weights, entmax15_gradient)


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


class Normaliser(nn.Module):
    """Sparse of Eq. 5: alpha_u: = Sparse(alpha_tilde_u:), over the neighbours of one target at a time."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        match attention:
            case "sparsemax":
                self._weights = sparsemax
            case "softmax":
                self._weights = softmax
            case "entmax15":
                self._weights = entmax15

    def forward(self, alpha_tilde: Tensor, groups: Groups) -> Tensor:
        """Weights of the same shape as the logits: non-negative, and one in sum for a target with neighbours."""
        return self._weights(alpha_tilde, groups)
