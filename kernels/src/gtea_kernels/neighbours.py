"""A layer's sums over neighbours, compiled; at rest, so that there are no gradients."""

from __future__ import annotations

from torch import Tensor

from gtea_kernels import _core
from gtea_kernels.instructions import instruction_set


def sum_neighbours(
    from_node: Tensor, e: Tensor, weight: Tensor, neighbour: Tensor, target: Tensor, alpha: Tensor, num_targets: int
) -> Tensor:
    """For each target the sum over its slots i of alpha[i] relu(from_node[neighbour[i]] + weight e[i]).

    The calling thread does it all, in the order of the slots, and no gradient goes through it.

    Args:
        from_node: [num_nodes, d_hidden].
        e: [num_slots, d_edge].
        weight: [d_hidden, d_edge].
        neighbour: For each slot a row of ``from_node``, int64.
        target: For each slot a row of the result, int64.
        alpha: [num_slots].
        num_targets: How many rows the result has; those that no slot names are zero.
    """
    return _core.sum_neighbours(from_node, e, weight, neighbour, target, alpha, num_targets, instruction_set())
