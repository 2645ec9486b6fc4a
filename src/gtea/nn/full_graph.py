"""The layers over a whole graph, a run of its targets at a time, at rest: no dropout, no gradient.

The same numbers as ``AggregationLayer``, to rounding, by what Eq. 6 allows once it is written out. With MLP_1's first
map split into a node's part and an edge's, W_1 [z_v || e_tilde_uv] = W_z z_v + W_e e_tilde_uv:

    z_nbr_u = sum_v alpha_uv (W_2 relu(W_z z_v + b_1 + W_e e_tilde_uv) + b_2)
            = W_2 s_u + b_2 w_u,  s_u = sum_v alpha_uv relu(W_z z_v + b_1 + W_e e_tilde_uv),  w_u = sum_v alpha_uv

and with MLP_2's first map of [z_u || z_nbr_u] split likewise, into W_own and W_nbr,

    W_own z_u + W_nbr z_nbr_u = W_own z_u + (W_nbr W_2) s_u + (W_nbr b_2) w_u

W_z z_v + b_1 is computed once a node instead of once a slot, W_2 once and for all, and nothing as long as all slots is
ever held but e_tilde itself. Sums go over parts, so that a hub may have any number of neighbours. Nodes know each other
by W_z z_v + b_1 alone, so that z'_u may take the place of z_u as soon as it is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import linear

from gtea.nn.batch import Slots
from gtea.nn.groups import SegmentGroups
from gtea.nn.kernels import kernels_for
from gtea.nn.model import GTEA, AggregationLayer
from gtea.nn.segments import run_sum
from gtea.runtime.parallel import parallel_map

PART = 1 << 13
"""How many slots are held at a time without the kernels: what they become stays in the processor's cache."""


@dataclass(frozen=True)
class AttendedRun:
    """A run of targets, and all whom they attend_all to."""

    targets: range
    slots: Slots
    """``target`` is counted from the run's first; ``edge`` is the slot's own number."""
    e_tilde: Tensor
    """Slot by slot, [num_slots, d_edge]."""


@torch.inference_mode()
def attend_all(model: GTEA, alpha_tilde: Tensor, offset: Tensor, neighbour: Tensor) -> Slots:
    """Eq. 5 over all neighbours: the slots that are left, each with the number of the look it was as its edge.

    Args:
        alpha_tilde: The attention logit of each look, [num_slots].
        offset: Target i owns looks offset[i] : offset[i + 1], int64 [num_targets + 1].
        neighbour: Where the other end stands among the nodes, int64 [num_slots].
    """
    alpha = model.normaliser(alpha_tilde, SegmentGroups(offset, len(alpha_tilde)))
    return Slots.of_graph(offset, neighbour, torch.arange(len(alpha), device=alpha.device), alpha)


def attended_run(targets: range, slots: Slots, e_tilde: Tensor) -> AttendedRun:
    """A run of targets, of whose looks ``e_tilde`` has those that are left, in order."""
    return AttendedRun(targets, replace(slots, edge=torch.arange(len(e_tilde))), e_tilde)


@torch.inference_mode()
def aggregate_graph(
    model: GTEA, x: Tensor, runs: Sequence[AttendedRun], num_within: Sequence[int], *, part: int = PART
) -> Tensor:
    """The embeddings of the first ``num_within[0]`` nodes: ``GTEA.aggregate``, run by run.

    Args:
        x: Node features, [num_within[L], d_node_features]. Where they are, the layers compute.
        runs: All targets, in order, on the CPU; no run goes across any of ``num_within``.
        num_within: As in a batch; ``[num_nodes] * (num_layers + 1)`` for a whole graph.
    """
    first, room = model.first(x), x.new_empty(0)
    z = first
    for layer, num_targets in zip(model.layers, reversed(num_within[:-1]), strict=True):
        assert isinstance(layer, AggregationLayer)
        own = [run for run in runs if run.targets.stop <= num_targets]
        room = room[: len(z)] if len(room) else x.new_empty(len(z), layer.mlp_1.into.out_features)
        z_new = x.new_empty(num_targets, layer.mlp_2.out.out_features) if z is first else z[:num_targets]
        _renew(layer, z, own, part, room, z_new)
        z = z_new
    return z


def _renew(
    layer: AggregationLayer, z: Tensor, runs: Sequence[AttendedRun], part: int, room: Tensor, z_new: Tensor
) -> None:
    """Eq. 6 and 7 for the targets of the runs, by way of ``room`` into ``z_new``, which may be z."""
    d_in, first, second = z.shape[1], layer.mlp_1, layer.mlp_2
    w_z, w_e = first.into.weight[:, :d_in], first.into.weight[:, d_in:]
    w_own, w_nbr = second.into.weight[:, :d_in], second.into.weight[:, d_in:]
    w_sum, b_sum = w_nbr @ first.out.weight, w_nbr @ first.out.bias
    from_node = torch.addmm(first.into.bias, z, w_z.T, out=room)

    @torch.inference_mode()
    def renew(run: AttendedRun) -> None:
        own = slice(run.targets.start, run.targets.stop)
        weight = run_sum(run.slots.alpha, run.slots.target, len(run.targets)).to(z.device)
        hidden = linear(z[own], w_own, second.into.bias).addmm_(_sum_relu(from_node, w_e, run, part), w_sum.T)
        torch.addmm(second.out.bias, hidden.addr_(weight, b_sum).relu_(), second.out.weight.T, out=z_new[own])

    for _ in parallel_map(renew, runs, z.device):
        pass


def _sum_relu(from_node: Tensor, w_e: Tensor, run: AttendedRun, part: int) -> Tensor:
    """Of each target, sum_v alpha_uv relu(from_node_v + W_e e_tilde_uv): compiled where it can be, else in parts."""
    compiled = kernels_for(from_node, w_e, run.e_tilde, run.slots.alpha)
    if compiled is not None:
        slots, num_targets = run.slots, len(run.targets)
        summed: Tensor = compiled.sum_neighbours(
            from_node, run.e_tilde, w_e, slots.neighbour, slots.target, slots.alpha, num_targets
        )
        return summed
    total, device = from_node.new_zeros(len(run.targets), from_node.shape[1]), from_node.device
    for some in _parts(run.slots, part):
        e_here = run.e_tilde.index_select(0, some.edge).to(device)
        hidden = from_node.index_select(0, some.neighbour.to(device)).addmm_(e_here, w_e.T).relu_()
        total.index_add_(0, some.target.to(device), hidden.mul_(some.alpha.to(device)[:, None]))
    return total


def _parts(slots: Slots, size: int) -> Iterator[Slots]:
    """The slots in order, so many at a time."""
    columns = (slots.target, slots.neighbour, slots.edge, slots.alpha)
    for first in range(0, len(slots.alpha), size):
        yield Slots(*(column[first : first + size] for column in columns))
