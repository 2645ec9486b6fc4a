"""Normalisers: from the attention logits z of one target to its attention weights p.

Sparsemax (Martins and Astudillo, 2016) is the paper's Sparse, Algorithm 1:

    k(z) = max {k : 1 + k z_(k) > sum_{j <= k} z_(j)},  z_(1) >= z_(2) >= ..
    gamma(z) = (sum_{j <= k(z)} z_(j) - 1) / k(z)
    p_i = max(z_i - gamma(z), 0)

The paper writes >= in the first line; where the two sides are equal, p is the same.

1.5-entmax (Peters, Niculae and Martins, 2019) lies between softmax and sparsemax. With x = z / 2, the exact solution by
sorting is

    p_i = max(x_i - tau, 0)^2,  tau = M - sqrt((1 - sum_{j in support} (x_j - M)^2) / k)

over the k largest values, M their mean, for the largest k with tau < x_(k).
Departs from the paper: an alternative to its Sparse ("not unique and can be replaced"), off by default.

Softmax is the dense attention of the paper's ablation and of the Transformer's heads:

    p_i = exp(z_i) / sum_j exp(z_j)

Each normaliser has its gradient in closed form. With g the gradient with respect to p, that with respect to z is

    sparsemax:  g_i - mean of g over the support, on the support; 0 elsewhere
    entmax15:   s_i (g_i - sum_j s_j g_j / sum_j s_j),  s = sqrt(p)
    softmax:    p_i (g_i - sum_j p_j g_j)

Only p is saved for the backward pass. Autograd sees neither the sorting nor the padding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from gtea.config import Attention
from gtea.nn.groups import Groups

_Weights = Callable[[Tensor, Groups], Tensor]
"""From logits z to weights p."""
_Gradient = Callable[[Tensor, Tensor, Groups], Tensor]
"""From the weights p and the gradient with respect to p to the gradient with respect to z."""
_ThresholdRule = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From the size, the sum and the sum of squares of a support to its threshold."""


class Normaliser(nn.Module):
    """Sparse of Eq. 5: alpha_u: = Sparse(alpha_tilde_u:), over the neighbours of each target; selected by name."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        match attention:
            case "sparsemax":
                self._normalise = sparsemax
            case "softmax":
                self._normalise = softmax
            case "entmax15":
                self._normalise = entmax15

    def forward(self, alpha_tilde: Tensor, groups: Groups) -> Tensor:
        """Weights of the same shape as the logits, non-negative. They sum to one for a target with neighbours."""
        return self._normalise(alpha_tilde, groups)


def sparsemax(z: Tensor, groups: Groups) -> Tensor:
    """Non-negative weights that sum to one in each group, many of them exactly zero."""
    return _with_gradient(z, groups, _sparsemax_weights, _sparsemax_gradient)


def entmax15(z: Tensor, groups: Groups) -> Tensor:
    """Non-negative weights that sum to one in each group, some of them exactly zero."""
    return _with_gradient(z, groups, _entmax15_weights, _entmax15_gradient)


def softmax(z: Tensor, groups: Groups) -> Tensor:
    """Positive weights that sum to one in each group."""
    return _with_gradient(z, groups, _softmax_weights, _softmax_gradient)


def _sparsemax_weights(z: Tensor, groups: Groups) -> Tensor:
    """The weights p of Algorithm 1; zero in the padding."""
    shifted = groups.below_largest(z)
    return (shifted - _threshold(shifted, groups, _gamma)).clamp(min=0).to(z.dtype)


def _sparsemax_gradient(p: Tensor, grad: Tensor, groups: Groups) -> Tensor:
    """The gradient with respect to z: grad minus its mean over the support, on the support; zero elsewhere."""
    support = (p > 0).to(grad.dtype)
    mean = groups.total(grad * support) / groups.total(support).clamp(min=1)
    return support * (grad - mean)


def _gamma(size: Tensor, total: Tensor, total_of_squares: Tensor) -> Tensor:
    """The threshold gamma(z) of a given support."""
    return (total - 1) / size


def _entmax15_weights(z: Tensor, groups: Groups) -> Tensor:
    """The weights p; zero in the padding."""
    shifted = groups.below_largest(z / 2)
    return (shifted - _threshold(shifted, groups, _tau)).clamp(min=0).square().to(z.dtype)


def _entmax15_gradient(p: Tensor, grad: Tensor, groups: Groups) -> Tensor:
    """The gradient with respect to z: s * (grad - sum(s grad) / sum(s)) with s = sqrt(p)."""
    s = p.sqrt()
    total = groups.total(s)
    # For a target without neighbours s is zero, and any divisor will do.
    mean = groups.total(grad * s) / torch.where(total > 0, total, 1)
    return s * (grad - mean)


def _tau(size: Tensor, total: Tensor, total_of_squares: Tensor) -> Tensor:
    """The threshold tau of a given support."""
    mean = total / size
    spread = total_of_squares - total * mean
    # Beyond the support the root may be of a negative number. The mean is then a threshold not below the k-th value.
    return mean - ((1 - spread) / size).clamp(min=0).sqrt()


def _softmax_weights(z: Tensor, groups: Groups) -> Tensor:
    """p_i = exp(z_i) / sum_j exp(z_j); zero in the padding."""
    weight = groups.below_largest(z).exp()
    # The maximum contributes exp(0): only a group of padding sums to less than one.
    return weight / groups.total(weight).clamp(min=1)


def _softmax_gradient(p: Tensor, grad: Tensor, groups: Groups) -> Tensor:
    """The gradient with respect to z: p * (grad - sum(p grad))."""
    return p * (grad - groups.total(p * grad))


def _threshold(shifted: Tensor, groups: Groups, rule: _ThresholdRule) -> Tensor:
    """The threshold of each group: that of its k largest values, for the largest k whose k-th value is above it.

    Shared by sparsemax and entmax15. Values below the threshold get weight zero.

    Args:
        shifted: Values whose maximum is 0 in each group. The threshold is at least -1, so values below it can't be in
            the support. They are clipped to -2, which keeps the sums small however large the logits are.
        rule: The threshold of a given support.
    """
    ranked = groups.ranked(shifted.clamp(min=-2))
    inside = rule(ranked.rank, ranked.total, ranked.total_of_squares) < ranked.value
    # Summed again over the support alone: cumulative sums over a large graph accumulate rounding errors.
    support = torch.where(inside, ranked.value, 0)
    size = groups.total(inside.to(support.dtype))
    return rule(size, groups.total(support), groups.total(support.square()))


def _with_gradient(z: Tensor, groups: Groups, weights: _Weights, gradient: _Gradient) -> Tensor:
    """Compute the weights of z, with the given function as their gradient."""
    p: Tensor = _ClosedForm.apply(z, groups, weights, gradient)  # type: ignore[no-untyped-call]
    return p


class _ClosedForm(torch.autograd.Function):
    """A normaliser with its gradient in closed form."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, groups: Groups, weights: _Weights, gradient: _Gradient) -> Tensor:
        """The weights p."""
        p = weights(z, groups)
        ctx.groups, ctx.gradient = groups, gradient
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, None, None, None]:
        """The gradient with respect to z."""
        (p,) = ctx.saved_tensors
        return ctx.gradient(p, grads[0], ctx.groups), None, None, None
