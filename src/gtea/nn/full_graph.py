"""The layers over a whole graph in eval mode (no dropout, no gradients), several consecutive targets at a time.

The results are those of ``AggregationLayer``, up to rounding, with Eq. 6 rearranged. With MLP_1's first map split into
a node's part and an edge's, W_1 [z_v || e_tilde_uv] = W_z z_v + W_e e_tilde_uv:

    z_nbr_u = sum_v alpha_uv (W_2 relu(W_z z_v + b_1 + W_e e_tilde_uv) + b_2)
            = W_2 s_u + b_2 w_u,  s_u = sum_v alpha_uv relu(W_z z_v + b_1 + W_e e_tilde_uv),  w_u = sum_v alpha_uv

and with MLP_2's first map of [z_u || z_nbr_u] split likewise, into W_own and W_nbr,

    W_own z_u + W_nbr z_nbr_u = W_own z_u + (W_nbr W_2) s_u + (W_nbr b_2) w_u

W_z z_v + b_1 is computed once per node instead of once per slot, and the products with W_2 once in all. Nothing of size
num_slots is held in memory except e_tilde. Sums are accumulated in chunks, so a hub may have any number of neighbours.
Other nodes read z_v only through W_z z_v + b_1, so z'_u can overwrite z_u as soon as it is computed.

Targets L - 1 hops from the seeds are updated by the first layer alone. Their s_u and w_u can be summed up before it
runs (``sum_first_layer``), in any parts: neither e_tilde nor the nodes L hops away need be held.
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
from gtea.nn.linear import MLP
from gtea.nn.model import GTEA, AggregationLayer
from gtea.nn.segments import segment_sum
from gtea.runtime.parallel import parallel_map

_CHUNK = 1 << 13
"""How many slots are processed at a time without the kernels: their hidden units fit into the processor's cache."""


@dataclass(frozen=True)
class AttendedRun:
    """Consecutive targets, and their slots of non-zero weight."""

    targets: range
    slots: Slots
    """``target`` counts from the first target of the run; ``edge`` is a row of ``e_tilde``."""
    e_tilde: Tensor
    """The edge embedding of each slot, [num_slots, d_edge]."""


@dataclass(frozen=True)
class SummedRun:
    """Consecutive targets of the first layer, and what it sums up over their neighbours, on the layers' device."""

    targets: range
    s: Tensor
    """[num_targets, d_hidden], in float64: the parts of a hub may be many."""
    weight: Tensor
    """w, [num_targets], in float64."""

    def plus(self, other: SummedRun) -> SummedRun:
        """The sums over the slots of both."""
        return SummedRun(self.targets, self.s + other.s, self.weight + other.weight)


Run = AttendedRun | SummedRun


@torch.inference_mode()
def attend_all(model: GTEA, alpha_tilde: Tensor, offset: Tensor, neighbour: Tensor) -> Slots:
    """Eq. 5 over all neighbours: the slots of non-zero weight. Their ``edge`` is the index of the slot in the input.

    Args:
        alpha_tilde: The attention logit of each slot, [num_slots].
        offset: Target i owns slots offset[i] : offset[i + 1], int64 [num_targets + 1].
        neighbour: The index of each slot's neighbour among the nodes, int64 [num_slots].
    """
    alpha = model.normaliser(alpha_tilde, SegmentGroups(offset, len(alpha_tilde)))
    return Slots.of_graph(offset, neighbour, torch.arange(len(alpha), device=alpha.device), alpha)


def attended_run(targets: range, slots: Slots, e_tilde: Tensor) -> AttendedRun:
    """Combine targets, their slots of non-zero weight, and the edge embeddings of these slots in order."""
    return AttendedRun(targets, replace(slots, edge=torch.arange(len(e_tilde))), e_tilde)


@torch.inference_mode()
def sum_first_layer(model: GTEA, x: Tensor, run: AttendedRun) -> SummedRun:
    """Sum up the neighbours of a run for the first layer; ``x`` has their features, by ``run.slots.neighbour``."""
    layer = model.layers[0]
    assert isinstance(layer, AggregationLayer)
    w_z, w_e = _split(layer.mlp_1, x.shape[1])
    from_node = torch.addmm(layer.mlp_1.into.bias, model.initial_embeddings(x), w_z.T)
    s, weight = _sums(from_node, w_e, run, _CHUNK)
    return SummedRun(run.targets, s.double(), weight.double())


@torch.inference_mode()
def aggregate_graph(
    model: GTEA, x: Tensor, runs: Sequence[Run], num_within: Sequence[int], *, part: int = _CHUNK
) -> Tensor:
    """The embeddings of the first ``num_within[0]`` nodes: ``GTEA.aggregate``, run by run.

    Args:
        x: Node features, [num_within[L], d_node_features]. The layers run on their device.
        runs: All targets in order; slots on the CPU. No run may contain a boundary of ``num_within``, and only the
            first layer may update the targets of a summed run.
        num_within: As in a batch; ``[num_nodes] * (num_layers + 1)`` for a whole graph.
        part: How many slots are processed at a time without the kernels.
    """
    z_0, buffer = model.initial_embeddings(x), x.new_empty(0)
    z = z_0
    for layer, num_targets in zip(model.layers, reversed(num_within[:-1]), strict=True):
        assert isinstance(layer, AggregationLayer)
        layer_runs = [run for run in runs if run.targets.stop <= num_targets]
        buffer = buffer[: len(z)] if len(buffer) else x.new_empty(len(z), layer.mlp_1.into.out_features)
        z_new = x.new_empty(num_targets, layer.mlp_2.out.out_features) if z is z_0 else z[:num_targets]
        _update(layer, z, layer_runs, part, buffer, z_new)
        z = z_new
    return z


@torch.inference_mode()
def update_targets(layer: AggregationLayer, z_own: Tensor, z_near: Tensor, runs: Sequence[AttendedRun]) -> Tensor:
    """Eq. 6 and 7 for some targets.

    Args:
        z_own: The targets' own embeddings, [num_targets, d_in].
        z_near: The embeddings of the nodes that ``slots.neighbour`` of the runs names.
        runs: The attended slots in parts, each with ``range(num_targets)`` as targets. A hub may be in many parts.
    """
    first, second = layer.mlp_1, layer.mlp_2
    (w_z, w_e), (w_own, w_nbr) = _split(first, z_own.shape[1]), _split(second, z_own.shape[1])
    from_node = torch.addmm(first.into.bias, z_near, w_z.T)
    hidden = linear(z_own, w_own, second.into.bias)
    if runs:
        sums = [_sums(from_node, w_e, run, _CHUNK) for run in runs]
        s, weight = (
            sums[0] if len(sums) == 1 else (sum(part.double() for part in parts) for parts in zip(*sums, strict=True))
        )
        hidden.addmm_(s.to(hidden.dtype), (w_nbr @ first.out.weight).T)
        hidden.addr_(weight.to(hidden.dtype), w_nbr @ first.out.bias)
    return torch.addmm(second.out.bias, hidden.relu_(), second.out.weight.T)


def _update(layer: AggregationLayer, z: Tensor, runs: Sequence[Run], part: int, buffer: Tensor, z_new: Tensor) -> None:
    """Write Eq. 6 and 7 for the targets of the runs to ``z_new``, which may be z. ``buffer`` holds W_z z + b_1."""
    first, second = layer.mlp_1, layer.mlp_2
    (w_z, w_e), (w_own, w_nbr) = _split(first, z.shape[1]), _split(second, z.shape[1])
    w_sum, b_sum = w_nbr @ first.out.weight, w_nbr @ first.out.bias
    from_node = torch.addmm(first.into.bias, z, w_z.T, out=buffer)

    @torch.inference_mode()
    def update(run: Run) -> None:
        rows = slice(run.targets.start, run.targets.stop)
        s, weight = _sums(from_node, w_e, run, part)
        hidden = linear(z[rows], w_own, second.into.bias).addmm_(s, w_sum.T)
        torch.addmm(second.out.bias, hidden.addr_(weight, b_sum).relu_(), second.out.weight.T, out=z_new[rows])

    for _ in parallel_map(update, runs, z.device):
        pass


def _split(mlp: MLP, d_in: int) -> tuple[Tensor, Tensor]:
    """The weights of an MLP's first map: of the first ``d_in`` inputs and of the others."""
    return mlp.into.weight[:, :d_in], mlp.into.weight[:, d_in:]


def _sums(from_node: Tensor, w_e: Tensor, run: Run, part: int) -> tuple[Tensor, Tensor]:
    """The sums s and w of each target."""
    if isinstance(run, SummedRun):
        return run.s.to(from_node.dtype), run.weight.to(from_node.dtype)
    weight = segment_sum(run.slots.alpha, run.slots.target, len(run.targets)).to(from_node.device)
    return _sum_relu(from_node, w_e, run, part), weight


def _sum_relu(from_node: Tensor, w_e: Tensor, run: AttendedRun, part: int) -> Tensor:
    """sum_v alpha_uv relu(from_node_v + W_e e_tilde_uv) of each target: by the kernels if possible, else in chunks."""
    compiled = kernels_for(from_node, w_e, run.e_tilde, run.slots.alpha)
    if compiled is not None:
        slots, num_targets = run.slots, len(run.targets)
        summed: Tensor = compiled.sum_neighbours(
            from_node, run.e_tilde, w_e, slots.neighbour, slots.target, slots.alpha, num_targets
        )
        return summed
    total, device = from_node.new_zeros(len(run.targets), from_node.shape[1]), from_node.device
    for chunk in _chunks(run.slots, part):
        e_chunk = run.e_tilde.index_select(0, chunk.edge).to(device)
        hidden = from_node.index_select(0, chunk.neighbour.to(device)).addmm_(e_chunk, w_e.T).relu_()
        total.index_add_(0, chunk.target.to(device), hidden.mul_(chunk.alpha.to(device)[:, None]))
    return total


def _chunks(slots: Slots, size: int) -> Iterator[Slots]:
    """The slots in order, ``size`` at a time."""
    for first in range(0, len(slots.alpha), size):
        yield slots.part(slice(first, first + size))
