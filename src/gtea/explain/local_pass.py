"""The network's answer about one account in many alternative pasts at once, from what is encoded only once.

In an alternative, the account (u) has not had some of its events. What follows from that, layer by layer:

- its own features x_u, and those of each counterparty v it lost events with;
- its row of attention: the logits that are left are normalised anew; edge embeddings stay as they are;
- layer 1 of a neighbour w: w's own row of attention is as it was, but w reads the new x_u and, if it deals with v, the
  new x_v. Its sum over all neighbours is corrected by these few terms;
- layer 1 of v, if the two still deal with each other: its own row changes, too.

Nothing else that the network reads within two hops of u depends on these events. Sums are in float64: corrections would
otherwise cost the digits that are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, from_numpy

from gtea.explain.split_layer import SplitLayer, split_layers
from gtea.features.alternatives import Alternatives
from gtea.features.node_features import NodeFeatures
from gtea.nn.groups import DenseGroups, SegmentGroups
from gtea.nn.model import GTEA, AggregationLayer
from gtea.nn.segments import segment_sum
from gtea.sampling.collate import HistoryReader
from gtea.sampling.subgraph import full_subgraph
from gtea.scoring.edge_pass import EdgePass

_CELLS = 1 << 17
"""How many attention weights are computed at a time: what follows from them fits into the cache."""


@dataclass(frozen=True)
class AttendedRow:
    """The neighbours to which one node gives a weight, and layer 1 of the node."""

    neighbour: NDArray[np.int64]
    of_edge: Tensor
    alpha: Tensor
    before: Tensor
    """Layer 1's units before the last activation."""


@dataclass(frozen=True)
class ChangedEdge:
    """One edge of the account with fewer events in each alternative."""

    slot: int
    """Its place among the account's slots."""
    partner: int
    partner_slot: int
    """Its place among the partner's slots."""
    is_left: NDArray[np.bool_]
    """Whether it has an event left."""
    e_tilde: Tensor
    alpha_tilde: Tensor
    partner_e_tilde: Tensor
    partner_alpha_tilde: Tensor


class EncodedView:
    """What the network reads around accounts of one view, encoded once and kept for further accounts."""

    def __init__(self, gtea: GTEA, reader: HistoryReader, features: NodeFeatures, device: torch.device) -> None:
        self.graph, self.reader, self.device = reader.graph, reader, device
        self.edges = EdgePass(gtea.edge_encoder, reader, device)
        self.normaliser = gtea.normaliser
        self.layers = split_layers([cast(AggregationLayer, layer) for layer in gtea.layers])
        self._gtea = gtea
        self._features = features
        self._rows: dict[int, AttendedRow] = {}

    def z_0(self, x: NDArray[np.float32]) -> Tensor:
        """z^(0) of nodes with features x."""
        return self._gtea.initial_embeddings(from_numpy(x)).double()

    def z_0_of(self, nodes: NDArray[np.integer[Any]]) -> Tensor:
        """z^(0) of nodes as they are."""
        return self.z_0(self._features.rows(nodes.astype(np.int64)))

    def slots_of(self, node: int) -> NDArray[np.int64]:
        """The slots of a node before the cut."""
        return full_subgraph(self.graph, np.array([node]), 1).slot

    def rows(self, nodes: NDArray[np.int64]) -> list[AttendedRow]:
        """The rows of nodes, from the cache if possible."""
        new = np.array([node for node in nodes if int(node) not in self._rows], dtype=np.int64)
        if len(new):
            self._rows.update(zip(new.tolist(), self._read_rows(new), strict=True))
        return [self._rows[int(node)] for node in nodes]

    def _read_rows(self, nodes: NDArray[np.int64]) -> list[AttendedRow]:
        subgraph = full_subgraph(self.graph, nodes, 1)
        slot, seen_from = subgraph.slots_of(range(len(nodes)))
        offset = from_numpy(subgraph.offset)
        logits = self.edges.weigh(slot, seen_from, _ignore)
        alpha = self.normaliser(logits, SegmentGroups(offset, len(logits))).double()
        left = alpha.nonzero().squeeze(1).numpy()
        e_tilde = self.edges.embed(slot[left], seen_from[left], _ignore).double()
        neighbour, alpha = subgraph.nodes[subgraph.neighbour[left]], alpha[from_numpy(left)]
        layer, of_edge = self.layers[0], self.layers[0].of_edge(e_tilde)
        hidden = torch.relu(layer.of_node(self.z_0_of(neighbour)) + of_edge)
        ends = np.searchsorted(left, subgraph.offset)
        owner = torch.repeat_interleave(from_numpy(np.diff(ends)))
        total = segment_sum(alpha[:, None] * hidden, owner, len(nodes))
        before = layer.before(self.z_0_of(nodes), total, segment_sum(alpha, owner, len(nodes)))
        parts = [slice(int(start), int(stop)) for start, stop in pairwise(ends)]
        return [AttendedRow(neighbour[part], of_edge[part], alpha[part], before[i]) for i, part in enumerate(parts)]


class LocalPass:
    """The embeddings of one account in alternative pasts."""

    def __init__(self, around: EncodedView, node: int) -> None:
        self.node = node
        self._around = around
        self._layers = around.layers
        slots = around.slots_of(node)
        rows = around.edges.encode(slots, np.full(len(slots), node), _ignore)
        self.neighbour = around.graph.slot_neighbour[slots].astype(np.int64)
        self.edge = around.graph.slot_edge[slots]
        self._e_tilde, self._logits = rows.e_tilde.double(), rows.alpha_tilde.double()
        self.weights = self._attention(np.ones((1, len(slots)), dtype=bool), ())[0]
        """The attention weight of each of its slots."""
        self._of_edge = [layer.of_edge(self._e_tilde) for layer in self._layers]
        self._hidden = torch.relu(self._layers[0].of_node(around.z_0_of(self.neighbour)) + self._of_edge[0])
        self._has_doubles = len(np.unique(self.neighbour)) < len(slots)

    def embed(
        self,
        kept: NDArray[np.bool_],
        x: NDArray[np.float32],
        partners: dict[int, NDArray[np.float32]],
        changed: Sequence[ChangedEdge] = (),
    ) -> Tensor:
        """The embedding z of the account in each alternative, [num_alternatives, d_node].

        Args:
            kept: Which of the account's slots are left in each, [num_alternatives, num_slots].
            x: The account's features in each.
            partners: The features of the counterparties that lost events, by node, in each alternative or, with one
                row, in every alternative in which the account has lost a slot to them.
            changed: The edges with one counterparty that have lost some of their events: one, or one each way.
        """
        size = max(1, _CELLS // max(1, kept.shape[1]))
        parts = []
        for first in range(0, len(kept), size):
            some = slice(first, first + size)
            here = {node: rows if len(rows) == 1 else rows[some] for node, rows in partners.items()}
            parts.append(_Alternative(self, kept[some], x[some], here, [_part(each, some) for each in changed]).embed())
        return torch.cat(parts)

    def attended(self, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The neighbours of the account to which it gives a weight in any of the alternatives."""
        found = np.zeros(len(self.neighbour), dtype=bool)
        size = max(1, _CELLS // max(1, kept.shape[1]))
        for first in range(0, len(kept), size):
            found |= (self._attention(kept[first : first + size], ()) != 0).any(axis=0)
        return np.unique(self.neighbour[found])

    def _attention(self, kept: NDArray[np.bool_], changed: Sequence[ChangedEdge]) -> NDArray[np.float64]:
        """Eq. 5 over the slots that are left. Only rows that lose a weight are normalised anew."""
        if not kept.size:
            return np.zeros(kept.shape)
        logits = self._logits.expand(len(kept), -1)
        if changed:
            logits = logits.clone()
            for edge in changed:
                logits[:, edge.slot] = edge.alpha_tilde
            return np.asarray(self._around.normaliser(logits, DenseGroups(from_numpy(kept))).numpy())
        whole = torch.ones(1, kept.shape[1], dtype=torch.bool)
        base = self._around.normaliser(logits[:1], DenseGroups(whole)).numpy()
        alpha = np.repeat(base, len(kept), axis=0)
        again = (~kept & (base != 0)).any(axis=1)
        mask = from_numpy(kept[again])
        alpha[again] = self._around.normaliser(logits[: len(mask)], DenseGroups(mask)).numpy()
        return alpha


class _Alternative:
    """One batch of alternatives of a ``LocalPass``. An entry is a slot of the account with a weight in one of them."""

    def __init__(
        self,
        base: LocalPass,
        kept: NDArray[np.bool_],
        x: NDArray[np.float32],
        partners: dict[int, NDArray[np.float32]],
        changed: Sequence[ChangedEdge],
    ) -> None:
        self._base, self._around, self._changed, self._kept = base, base._around, changed, kept
        self._z_0 = self._around.z_0(x)
        self._partners = {node: self._around.z_0(rows) for node, rows in partners.items()}
        alpha = base._attention(kept, changed)
        self._which, self._slot = np.nonzero(alpha)
        self._alpha = from_numpy(alpha[self._which, self._slot])
        self._neighbour = base.neighbour[self._slot]
        self._partner = changed[0].partner if changed and changed[0].partner != base.node else None

    def embed(self) -> Tensor:
        first, *second = self._base._layers
        weight = self._summed(self._alpha)
        total = self._summed(self._alpha[:, None] * self._hidden_0())
        z = first.out(first.before(self._z_0, total, weight))
        for layer in second:
            hidden = torch.relu(self._of_nodes_1(layer, z) + self._of_edge(1))
            z = layer.out(layer.before(z, self._summed(self._alpha[:, None] * hidden), weight))
        return z

    def _summed(self, values: Tensor) -> Tensor:
        """The sum over the entries of each alternative."""
        return segment_sum(values, from_numpy(self._which), len(self._kept))

    def _of_edge(self, depth: int) -> Tensor:
        """The part of a layer's hidden units that comes from the edge of each entry."""
        parts = self._base._of_edge[depth][from_numpy(self._slot)]
        for edge in self._changed:
            at = np.flatnonzero(self._slot == edge.slot)
            parts[from_numpy(at)] = self._base._layers[depth].of_edge(edge.e_tilde[from_numpy(self._which[at])])
        return parts

    def _hidden_0(self) -> Tensor:
        """Layer 1's hidden units of each entry."""
        hidden = self._base._hidden[from_numpy(self._slot)]
        is_new = self._neighbour == self._base.node
        if self._partner is not None:
            is_new = is_new | (self._neighbour == self._partner)
        at = np.flatnonzero(is_new)
        if len(at):
            z = torch.stack([self._z_now(int(self._neighbour[i]), int(self._which[i])) for i in at])
            of_edge = self._of_edge(0)[from_numpy(at)]
            hidden[from_numpy(at)] = torch.relu(self._base._layers[0].of_node(z) + of_edge)
        return hidden

    def _z_now(self, node: int, which: int) -> Tensor:
        """z^(0) in an alternative of the account, or of the partner of the changed edges."""
        return (self._z_0 if node == self._base.node else self._partners[node])[which]

    def _of_nodes_1(self, layer: SplitLayer, z_own: Tensor) -> Tensor:
        """The part of layer 2's hidden units that comes from the neighbour of each entry, with its layer 1."""
        first = self._base._layers[0]
        near, place = np.unique(self._neighbour, return_inverse=True)
        if not len(near):
            return layer.of_node(z_own[:0])
        rows = self._around.rows(near)
        which, entry = self._which, None
        if self._base._has_doubles:
            pair, entry = np.unique(which * len(near) + place, return_inverse=True)
            which, place = np.divmod(pair, len(near))
        before = torch.stack([row.before for row in rows])
        parts = first.out_to(layer, before)[from_numpy(place)]
        change, touched = self._changes(rows, which, place)
        at = np.flatnonzero(touched)
        moved = before[from_numpy(place[at])] + first.of_sum(change[from_numpy(at)])
        parts[from_numpy(at)] = first.out_to(layer, moved)
        if self._partner is not None:
            at = np.flatnonzero(near[place] == self._partner)
            if len(at):
                some = from_numpy(which[at])
                total, weight = self._partner_sums(self._partner)
                moved = first.before(self._partners[self._partner][some], total[some], weight[some])
                parts[from_numpy(at)] = first.out_to(layer, moved)
        loop = np.flatnonzero(near[place] == self._base.node)
        parts[from_numpy(loop)] = layer.of_node(z_own[from_numpy(which[loop])])
        return parts if entry is None else parts[from_numpy(entry)]

    def _changes(
        self, rows: list[AttendedRow], which: NDArray[np.int64], place: NDArray[np.int64]
    ) -> tuple[Tensor, NDArray[np.bool_]]:
        """How layer 1's sums of neighbours change by what is new about the account and its counterparties.

        Args:
            which: The alternative of each pair of an alternative and a neighbour.
            place: The neighbour of each, as an index into the rows.
        """
        layer = self._base._layers[0]
        index = np.full((len(self._kept), len(rows)), -1, dtype=np.int64)
        index[which, place] = np.arange(len(which))
        owner = np.repeat(np.arange(len(rows)), [len(row.neighbour) for row in rows])
        neighbour = np.concatenate([row.neighbour for row in rows])
        of_edge, alpha = torch.cat([row.of_edge for row in rows]), torch.cat([row.alpha for row in rows])
        change = of_edge.new_zeros(len(which), of_edge.shape[1])
        touched = np.zeros(len(which), dtype=bool)
        moving = {self._base.node: self._z_0}
        if self._partner is not None:
            moving[self._partner] = self._partners[self._partner]
        for node, z in moving.items():
            spots = np.flatnonzero(neighbour == node)
            pairs = index[:, owner[spots]]
            alternative, column = np.nonzero(pairs >= 0)
            spot = from_numpy(spots[column])
            before = torch.relu(layer.of_node(self._around.z_0_of(np.array([node]))) + of_edge[from_numpy(spots)])
            now = torch.relu(layer.of_node(z)[from_numpy(alternative)] + of_edge[spot])
            found = pairs[alternative, column]
            change.index_add_(0, from_numpy(found), alpha[spot, None] * (now - before[from_numpy(column)]))
            touched[found] = True
        lost = np.array([node for node in self._partners if node not in moving], dtype=np.int64)
        spots = np.flatnonzero(np.isin(neighbour, lost))
        if len(spots):
            at = from_numpy(spots)
            old = layer.of_node(self._around.z_0_of(neighbour[spots]))
            new = layer.of_node(torch.cat([self._partners[int(node)] for node in neighbour[spots]]))
            moved = alpha[at, None] * (torch.relu(new + of_edge[at]) - torch.relu(old + of_edge[at]))
            pairs = np.where(self._lost(neighbour[spots]), index[:, owner[spots]], -1)
            alternative, column = np.nonzero(pairs >= 0)
            found = pairs[alternative, column]
            change.index_add_(0, from_numpy(found), moved[from_numpy(column)])
            touched[found] = True
        return change, touched

    def _lost(self, nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the account has lost each of some counterparties, [num_alternatives, num_nodes]."""
        order = np.argsort(self._base.neighbour, kind="stable")
        slot = order[np.searchsorted(self._base.neighbour[order], nodes)]
        return ~self._kept[:, slot]

    def _partner_sums(self, node: int) -> tuple[Tensor, Tensor]:
        """Layer 1's sums of hidden units and of weights of the partner of the changed edges in each alternative."""
        around, slots = self._around, self._around.slots_of(node)
        seen_from = np.full(len(slots), node)
        logits = around.edges.weigh(slots, seen_from, _ignore).double().expand(len(self._kept), -1).clone()
        kept = torch.ones(len(self._kept), len(slots), dtype=torch.bool)
        for edge in self._changed:
            logits[:, edge.partner_slot] = edge.partner_alpha_tilde
            kept[:, edge.partner_slot] = from_numpy(edge.is_left)
        alpha = around.normaliser(logits, DenseGroups(kept))
        which, slot = (each.numpy() for each in alpha.nonzero(as_tuple=True))
        used, place = np.unique(slot, return_inverse=True)
        e_tilde = around.edges.embed(slots[used], seen_from[used], _ignore).double()[from_numpy(place)]
        for edge in self._changed:
            at = np.flatnonzero(slot == edge.partner_slot)
            e_tilde[from_numpy(at)] = edge.partner_e_tilde[from_numpy(which[at])]
        neighbour = around.graph.slot_neighbour[slots[slot]].astype(np.int64)
        z = around.z_0_of(neighbour)
        for changed_node, rows in ((self._base.node, self._z_0), (node, self._partners[node])):
            at = np.flatnonzero(neighbour == changed_node)
            z[from_numpy(at)] = rows[from_numpy(which[at])]
        weights = alpha[from_numpy(which), from_numpy(slot)]
        layer, owner = self._base._layers[0], from_numpy(which)
        hidden = torch.relu(layer.of_node(z) + layer.of_edge(e_tilde))
        size = len(self._kept)
        return segment_sum(weights[:, None] * hidden, owner, size), segment_sum(weights, owner, size)


@torch.inference_mode()
def changed_edge(around: EncodedView, edge: int, own: Alternatives, other: Alternatives) -> ChangedEdge:
    """Encode one edge with the events that are left of it in each alternative, as seen from both ends.

    Args:
        own: The alternatives to the account.
        other: As many alternatives to its counterparty.
    """
    node, partner = int(own.original[0]), int(other.original[0])
    slot, partner_slot = (
        int(np.flatnonzero(around.graph.slot_edge[around.slots_of(end)] == edge)[0]) for end in (node, partner)
    )
    is_left, e_tilde, alpha_tilde = _encode_left(around, edge, own, partner)
    _, partner_e_tilde, partner_alpha_tilde = _encode_left(around, edge, other, node)
    return ChangedEdge(slot, partner, partner_slot, is_left, e_tilde, alpha_tilde, partner_e_tilde, partner_alpha_tilde)


def _encode_left(
    around: EncodedView, edge: int, ends: Alternatives, far: int
) -> tuple[NDArray[np.bool_], Tensor, Tensor]:
    """Whether the edge has an event left in each alternative, and its encodings; zeros where it has none."""
    graph, near = ends.graph, int(ends.original[0])
    starts_here = around.graph.edge_a[edge] == near
    found = np.full(len(ends.nodes), -1, dtype=np.int64)
    for i, node in enumerate(ends.nodes):
        for slot in range(graph.node_offset[node], graph.node_offset[node + 1]):
            is_far = graph.slot_neighbour[slot] == (node if far == near else far)
            if is_far and (graph.edge_a[graph.slot_edge[slot]] == node) == starts_here:
                found[i] = graph.slot_edge[slot]
    is_left = found >= 0
    encoder = around.edges.encoder
    e_tilde, alpha_tilde = torch.zeros(len(found), encoder.d_edge).double(), torch.zeros(len(found)).double()
    if is_left.any():
        places = from_numpy(np.flatnonzero(is_left))
        encoded = encoder(around.reader.read_in(graph, found[is_left], ends.nodes[is_left]).to(around.device))
        e_tilde[places], alpha_tilde[places] = (each.cpu().double() for each in encoded)
    return is_left, e_tilde, alpha_tilde


def _part(changed: ChangedEdge, some: slice) -> ChangedEdge:
    """The same edge in some of the alternatives."""
    return replace(
        changed,
        is_left=changed.is_left[some],
        e_tilde=changed.e_tilde[some],
        alpha_tilde=changed.alpha_tilde[some],
        partner_e_tilde=changed.partner_e_tilde[some],
        partner_alpha_tilde=changed.partner_alpha_tilde[some],
    )


def _ignore(done: float) -> None:
    """Encoding around one account takes no time to speak of."""
