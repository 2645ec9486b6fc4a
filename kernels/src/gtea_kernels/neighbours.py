"""A layer's sums over neighbours, compiled. For inference: there are no gradients."""

from __future__ import annotations

from torch import Tensor

from gtea_kernels import library
from gtea_kernels.instructions import instruction_set_index
from gtea_kernels.tensors import floats, integers, require_dimensions


def sum_neighbours(
    from_node: Tensor, e: Tensor, weight: Tensor, neighbour: Tensor, target: Tensor, alpha: Tensor, num_targets: int
) -> Tensor:
    """For each target the sum over its slots i of alpha[i] relu(from_node[neighbour[i]] + weight e[i]).

    The calling thread does all of it, in the order of the slots.

    Args:
        from_node: [num_nodes, d_hidden].
        e: [num_slots, d_edge].
        weight: [d_hidden, d_edge].
        neighbour: For each slot a row of ``from_node``, int64.
        target: For each slot a row of the result, int64.
        alpha: [num_slots].
        num_targets: How many rows the result has; those that no slot names are zero.
    """
    require_dimensions("from_node", from_node, 2)
    require_dimensions("e", e, 2)
    if num_targets < 0:
        raise ValueError(f"num_targets must be at least 0 (got {num_targets})")
    (num_nodes, d_hidden), (num_slots, d_edge) = from_node.shape, e.shape
    from_node = floats(from_node, "from_node", (num_nodes, d_hidden))
    e = floats(e, "e", (num_slots, d_edge))
    weight = floats(weight, "weight", (d_hidden, d_edge))
    neighbour = integers(neighbour, "neighbour", num_slots)
    target = integers(target, "target", num_slots)
    alpha = floats(alpha, "alpha", (num_slots,))
    total = from_node.new_zeros(num_targets, d_hidden)
    arrays = (from_node, e, weight, neighbour, target, alpha, total)
    sizes = (num_nodes, num_targets, num_slots, d_edge, d_hidden)
    library.sum_neighbours(instruction_set_index(), *sizes, *(array.data_ptr() for array in arrays))
    return total
