"""The threshold shared by sparsemax and entmax15: below it, a neighbour gets no weight at all."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gtea.nn.normalisers.groups import Groups

ThresholdRule = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From the size, the sum and the sum of squares of a support to its threshold."""


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
