"""Sparsemax (Martins and Astudillo, 2016): the paper's Sparse. Maths, gradient, function.

Algorithm 1 of the paper, for the logits z of one target:

    k(z) = max {k : 1 + k z_(k) > sum_{j <= k} z_(j)},  z_(1) >= z_(2) >= ..
    gamma(z) = (sum_{j <= k(z)} z_(j) - 1) / k(z)
    p_i = max(z_i - gamma(z), 0)

The paper writes >= in the first line; where the two sides are equal, p is the same.
"""

from __future__ import annotations

from torch import Tensor

from gtea.nn.normalisers.closed_form import with_gradient
from gtea.nn.normalisers.groups import Groups
from gtea.nn.normalisers.threshold import find_threshold


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
