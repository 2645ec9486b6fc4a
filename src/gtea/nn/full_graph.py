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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import torch
from torch import Tensor
from torch.nn.functional import linear

from gtea.nn.batch import Slots
from gtea.nn.groups import SegmentGroups
from gtea.nn.kernels import kernels_for
from gtea.nn.linear import MLP
from gtea.nn.model import GTEA, AggregationLayer
from gtea.nn.segments import segment_sum
from gtea.runtime.parallel import one_thread, parallel_map

_NODES_PER_BLOCK = 1 << 12
"""How many nodes W_z z_v + b_1 is computed of at a time."""
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


@dataclass(frozen=True)
class PiecedRun:
    """A single target with so many slots that they are held and summed up in pieces."""

    targets: range
    pieces: tuple[AttendedRun, ...]
    """In the order of its slots. Their sums are added up in float64, one after the other, wherever they were made."""


Run = AttendedRun | SummedRun
HeldRun = AttendedRun | PiecedRun
"""A run whose slots are held, as long as all layers run."""


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
    layer = layer_pass(model, 0, x.shape[1])
    s, weight = layer.sums(layer.from_nodes(model.initial_embeddings(x)), run)
    return SummedRun(run.targets, s.double(), weight.double())


@torch.inference_mode()
def aggregate_graph(
    model: GTEA,
    x: Tensor,
    runs: Sequence[Run | PiecedRun],
    num_within: Sequence[int],
    *,
    part: int = _CHUNK,
    block: int = _NODES_PER_BLOCK,
) -> Tensor:
    """The embeddings of the first ``num_within[0]`` nodes: ``GTEA.aggregate``, run by run.

    Args:
        x: Node features, [num_within[L], d_node_features]. The layers run on their device.
        runs: All targets in order; slots on the CPU. No run may contain a boundary of ``num_within``, and only the
            first layer may update the targets of a summed run.
        num_within: As in a batch; ``[num_nodes] * (num_layers + 1)`` for a whole graph.
        part: How many slots are processed at a time without the kernels.
        block: How many nodes are read at a time. It may change the last bits of a result.
    """
    z_0, buffer = model.initial_embeddings(x), x.new_empty(0)
    z = z_0
    for depth, num_targets in enumerate(reversed(num_within[:-1])):
        layer = layer_pass(model, depth, z.shape[1])
        layer_runs = [run for run in runs if run.targets.stop <= num_targets]
        buffer = buffer[: len(z)] if len(buffer) else x.new_empty(len(z), layer.d_hidden)
        z_new = x.new_empty(num_targets, layer.d_out) if z is z_0 else z[:num_targets]
        _update(layer, z, layer_runs, part, block, buffer, z_new)
        z = z_new
    return z


@dataclass(frozen=True)
class LayerPass:
    """The weights of a layer, arranged as in the text above."""

    layer: AggregationLayer
    w_z: Tensor
    w_e: Tensor
    w_own: Tensor
    w_sum: Tensor
    b_sum: Tensor

    @staticmethod
    def of(layer: AggregationLayer, d_in: int) -> LayerPass:
        """Arrange the weights of a layer; ``d_in`` is the width of its z."""
        (w_z, w_e), (w_own, w_nbr) = _split(layer.mlp_1, d_in), _split(layer.mlp_2, d_in)
        with torch.inference_mode(), one_thread():
            first = layer.mlp_1.out
            return LayerPass(layer, w_z, w_e, w_own, w_nbr @ first.weight, w_nbr @ first.bias)

    @property
    def d_hidden(self) -> int:
        """The width of W_z z + b_1."""
        return self.layer.mlp_1.into.out_features

    @property
    def d_out(self) -> int:
        """The width of z'."""
        return self.layer.mlp_2.out.out_features

    @torch.inference_mode()
    def from_nodes(self, z: Tensor, out: Tensor | None = None) -> Tensor:
        """W_z z + b_1 of some nodes: all that others read of them."""
        return torch.addmm(self.layer.mlp_1.into.bias, z, self.w_z.T, out=out)

    @torch.inference_mode()
    def sums(self, from_node: Tensor, run: Run | PiecedRun, part: int = _CHUNK) -> tuple[Tensor, Tensor]:
        """The sums s and w of each target of a run; ``from_node`` is indexed by ``run.slots.neighbour``."""
        if isinstance(run, SummedRun):
            return run.s.to(from_node.dtype), run.weight.to(from_node.dtype)
        if isinstance(run, PiecedRun):
            total = summed_pieces(run.targets, (self.sums(from_node, piece, part) for piece in run.pieces))
            return self.sums(from_node, total)
        weight = segment_sum(run.slots.alpha, run.slots.target, len(run.targets)).to(from_node.device)
        return _sum_relu(from_node, self.w_e, run, part), weight

    @torch.inference_mode()
    def renew(self, z: Tensor, s: Tensor, weight: Tensor, out: Tensor | None = None) -> Tensor:
        """Z' of the targets of a run, from their own z and the sums over their neighbours."""
        second = self.layer.mlp_2
        hidden = linear(z, self.w_own, second.into.bias).addmm_(s, self.w_sum.T)
        return torch.addmm(second.out.bias, hidden.addr_(weight, self.b_sum).relu_(), second.out.weight.T, out=out)


def layer_pass(model: GTEA, depth: int, d_in: int) -> LayerPass:
    """One of the layers, counted from the first to run; ``d_in`` is the width of its z."""
    layer = model.layers[depth]
    assert isinstance(layer, AggregationLayer)
    return LayerPass.of(layer, d_in)


def summed_pieces(targets: range, sums: Iterable[tuple[Tensor, Tensor]]) -> SummedRun:
    """The sums of a pieced run, given those of its pieces in order."""
    each = [SummedRun(targets, s.double(), weight.double()) for s, weight in sums]
    return reduce(SummedRun.plus, each)


@torch.inference_mode()
def update_targets(layer: LayerPass, z_own: Tensor, z_near: Tensor, runs: Sequence[AttendedRun]) -> Tensor:
    """Eq. 6 and 7 for some targets.

    Args:
        z_own: The targets' own embeddings, [num_targets, d_in].
        z_near: The embeddings of the nodes that ``slots.neighbour`` of the runs names.
        runs: The attended slots in parts, each with ``range(num_targets)`` as targets. A hub may be in many parts.
    """
    targets, from_node = range(len(z_own)), layer.from_nodes(z_near)
    run: Run = SummedRun(targets, z_own.new_zeros(len(z_own), layer.d_hidden), z_own.new_zeros(len(z_own)))
    if len(runs) == 1:
        run = runs[0]
    elif runs:
        run = summed_pieces(targets, (layer.sums(from_node, part) for part in runs))
    return layer.renew(z_own, *layer.sums(from_node, run))


def _update(
    layer: LayerPass, z: Tensor, runs: Sequence[Run | PiecedRun], part: int, block: int, buffer: Tensor, z_new: Tensor
) -> None:
    """Write Eq. 6 and 7 for the targets of the runs to ``z_new``, which may be z. ``buffer`` holds W_z z + b_1."""

    def read(first: int) -> None:
        rows = slice(first, first + block)
        layer.from_nodes(z[rows], out=buffer[rows])

    def update(run: Run | PiecedRun) -> None:
        rows = slice(run.targets.start, run.targets.stop)
        layer.renew(z[rows], *layer.sums(buffer, run, part), out=z_new[rows])

    for _ in parallel_map(read, range(0, len(z), block), z.device):
        pass
    for _ in parallel_map(update, runs, z.device):
        pass


def _split(mlp: MLP, d_in: int) -> tuple[Tensor, Tensor]:
    """The weights of an MLP's first map: of the first ``d_in`` inputs and of the others."""
    return mlp.into.weight[:, :d_in], mlp.into.weight[:, d_in:]


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
