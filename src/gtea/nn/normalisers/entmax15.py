"""1.5-entmax (Peters, Niculae and Martins, 2019): between softmax and sparsemax. Maths, gradient, function.

With x = z / 2, the exact solution by sorting:

    p_i = max(x_i - tau, 0)^2,  tau = M - sqrt((1 - sum_{j in support} (x_j - M)^2) / k)

over the k largest values, M their mean, for the largest k with tau < x_(k).
Departs from the paper: an alternative to its Sparse ("not unique and can be replaced"), off by default.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gtea.nn.normalisers.closed_form import with_gradient
from gtea.nn.normalisers.groups import Groups
from gtea.nn.normalisers.threshold import find_threshold


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
