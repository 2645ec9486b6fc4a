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

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, from_numpy

from gtea.features.alternatives import Alternatives
from gtea.features.node_features import NodeFeatures
from gtea.nn.groups import DenseGroups, SegmentGroups
from gtea.nn.model import GTEA, AggregationLayer
from gtea.sampling.collate import HistoryReader
from gtea.sampling.subgraph import full_subgraph
from gtea.scoring.edge_pass import EdgePass

_CELLS = 1 << 21
"""How many attention weights are computed at a time."""


@dataclass(frozen=True)
class AttendedRow:
    """The neighbours to which one node gives a weight, and layer 1's sum over them."""

    neighbour: NDArray[np.int64]
    e_tilde: Tensor
    alpha: Tensor
    total: Tensor


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
        self.layers = [cast(AggregationLayer, layer) for layer in copy.deepcopy(gtea.layers).cpu().double()]
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
        messages = self.layers[0].mlp_1(torch.cat([self.z_0_of(neighbour), e_tilde], 1)) * alpha[:, None]
        ends = np.searchsorted(left, subgraph.offset)
        parts = (slice(int(start), int(stop)) for start, stop in pairwise(ends))
        return [AttendedRow(neighbour[part], e_tilde[part], alpha[part], messages[part].sum(0)) for part in parts]


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
        self._z_0 = around.z_0_of(np.array([node]))[0]

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
    """One batch of alternatives of a ``LocalPass``."""

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
        self._e_tilde = base._e_tilde[from_numpy(self._slot)]
        for edge in changed:
            at = np.flatnonzero(self._slot == edge.slot)
            self._e_tilde[from_numpy(at)] = edge.e_tilde[from_numpy(self._which[at])]
        self._partner = changed[0].partner if changed and changed[0].partner != base.node else None

    def embed(self) -> Tensor:
        z_own, z_near = self._z_0, self._nodes_0()
        for depth, layer in enumerate(self._base._layers):
            if depth:
                z_near = self._nodes_1(z_own)
            messages = layer.mlp_1(torch.cat([z_near, self._e_tilde], 1)) * self._alpha[:, None]
            total = z_own.new_zeros(len(z_own), messages.shape[1])
            total.index_add_(0, from_numpy(self._which), messages)
            z_own = layer.mlp_2(torch.cat([z_own, total], 1))
        return z_own

    def _nodes_0(self) -> Tensor:
        """z^(0) of the neighbour of each entry."""
        z = self._around.z_0_of(self._neighbour)
        loop = np.flatnonzero(self._neighbour == self._base.node)
        z[from_numpy(loop)] = self._z_0[from_numpy(self._which[loop])]
        if self._partner is not None:
            at = np.flatnonzero(self._neighbour == self._partner)
            z[from_numpy(at)] = self._partners[self._partner][from_numpy(self._which[at])]
        return z

    def _nodes_1(self, z_own: Tensor) -> Tensor:
        """z^(1) of the neighbour of each entry."""
        near, place = np.unique(self._neighbour, return_inverse=True)
        rows = self._around.rows(near)
        pair, entry = np.unique(self._which * len(near) + place, return_inverse=True)
        which, place = np.divmod(pair, max(len(near), 1))
        total = torch.stack([row.total for row in rows])[from_numpy(place)] if rows else z_own.new_empty(0, 0)
        own = self._around.z_0_of(near[place])
        self._correct(total, rows, which, place)
        if self._partner is not None:
            at = np.flatnonzero(near[place] == self._partner)
            alternatives = from_numpy(which[at])
            own[from_numpy(at)] = self._partners[self._partner][alternatives]
            total[from_numpy(at)] = self._partner_total(self._partner)[alternatives]
        if not len(pair):
            return z_own.new_empty(0, z_own.shape[1])
        z: Tensor = self._base._layers[0].mlp_2(torch.cat([own, total], 1))
        loop = np.flatnonzero(near[place] == self._base.node)
        z[from_numpy(loop)] = z_own[from_numpy(which[loop])]
        return z[from_numpy(entry)]

    def _correct(
        self, total: Tensor, rows: list[AttendedRow], which: NDArray[np.int64], place: NDArray[np.int64]
    ) -> None:
        """Correct layer 1's sums of the neighbours for what is new about the account and its counterparties."""
        message = self._base._layers[0].mlp_1
        new = {self._base.node: self._z_0, **self._partners}
        index = np.full((len(self._kept), len(rows)), -1, dtype=np.int64)
        index[which, place] = np.arange(len(which))
        for node, z in new.items():
            old = self._around.z_0_of(np.array([node]))
            spots = [(i, at) for i, row in enumerate(rows) for at in np.flatnonzero(row.neighbour == node)]
            if not spots:
                continue
            concerned = self._concerned(node)
            for_all = len(z) == 1
            near = np.array([i for i, _ in spots])
            e_tilde = torch.stack([rows[i].e_tilde[at] for i, at in spots])
            alpha = torch.stack([rows[i].alpha[at] for i, at in spots])
            before = message(torch.cat([old.expand(len(spots), -1), e_tilde], 1))
            pairs = index[:, near] if concerned is None else np.where(concerned[:, None], index[:, near], -1)
            at_which, at_spot = np.nonzero(pairs >= 0)
            if for_all:
                change = alpha[:, None] * (message(torch.cat([z.expand(len(spots), -1), e_tilde], 1)) - before)
                change = change[from_numpy(at_spot)]
            else:
                spot = from_numpy(at_spot)
                now = message(torch.cat([z[from_numpy(at_which)], e_tilde[spot]], 1))
                change = alpha[spot, None] * (now - before[spot])
            total.index_add_(0, from_numpy(pairs[at_which, at_spot]), change)

    def _concerned(self, node: int) -> NDArray[np.bool_] | None:
        """In which alternatives a node is another one than before; None if in all."""
        if node in (self._base.node, self._partner):
            return None
        slots = np.flatnonzero(self._base.neighbour == node)
        return np.asarray((~self._kept[:, slots]).any(axis=1))

    def _partner_total(self, node: int) -> Tensor:
        """Layer 1's sum of the partner of the changed edges in each alternative."""
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
        messages = self._base._layers[0].mlp_1(torch.cat([z, e_tilde], 1)) * weights[:, None]
        total = z.new_zeros(len(self._kept), messages.shape[1])
        return total.index_add_(0, from_numpy(which), messages)


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
