"""The layers of a network for one account in many alternative pasts at once, from what is encoded only once.

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

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, from_numpy

from gtea.explain.account_row import AccountRow
from gtea.explain.changed_edge import ChangedEdge
from gtea.explain.encoded_view import AttendedRow, ignore
from gtea.explain.split_layer import SplitLayer
from gtea.nn.groups import DenseGroups
from gtea.nn.segments import segment_sum


class AlternativePass:
    """A batch of alternatives to one account. An entry is a slot of the account with a weight in one of them."""

    def __init__(
        self,
        base: AccountRow,
        kept: NDArray[np.bool_],
        x: NDArray[np.float32],
        partners: dict[int, NDArray[np.float32]],
        changed: Sequence[ChangedEdge],
    ) -> None:
        self._base, self._around, self._changed, self._kept = base, base.around, changed, kept
        self._z_0 = self._around.z_0(x)
        self._partners = {node: self._around.z_0(rows) for node, rows in partners.items()}
        alpha = base.attention(kept, changed)
        self._which, self._slot = np.nonzero(alpha)
        self._alpha = from_numpy(alpha[self._which, self._slot])
        self._neighbour = base.neighbour[self._slot]
        self._partner = changed[0].partner if changed and changed[0].partner != base.node else None

    def embed(self) -> Tensor:
        """The embedding z of the account in each alternative."""
        first, *second = self._base.layers
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
        parts = self._base.of_edge[depth][from_numpy(self._slot)]
        for edge in self._changed:
            at = np.flatnonzero(self._slot == edge.slot)
            parts[from_numpy(at)] = self._base.layers[depth].of_edge(edge.e_tilde[from_numpy(self._which[at])])
        return parts

    def _hidden_0(self) -> Tensor:
        """Layer 1's hidden units of each entry."""
        hidden = self._base.hidden[from_numpy(self._slot)]
        is_new = self._neighbour == self._base.node
        if self._partner is not None:
            is_new = is_new | (self._neighbour == self._partner)
        at = np.flatnonzero(is_new)
        if len(at):
            z = torch.stack([self._z_now(int(self._neighbour[i]), int(self._which[i])) for i in at])
            of_edge = self._of_edge(0)[from_numpy(at)]
            hidden[from_numpy(at)] = torch.relu(self._base.layers[0].of_node(z) + of_edge)
        return hidden

    def _z_now(self, node: int, which: int) -> Tensor:
        """z^(0) in an alternative of the account, or of the partner of the changed edges."""
        return (self._z_0 if node == self._base.node else self._partners[node])[which]

    def _of_nodes_1(self, layer: SplitLayer, z_own: Tensor) -> Tensor:
        """The part of layer 2's hidden units that comes from the neighbour of each entry, with its layer 1."""
        first = self._base.layers[0]
        near, place = np.unique(self._neighbour, return_inverse=True)
        if not len(near):
            return layer.of_node(z_own[:0])
        rows = self._around.rows(near)
        which, entry = self._which, None
        if self._base.has_doubles:
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
        layer = self._base.layers[0]
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
            moved = layer.of_node(z)[from_numpy(alternative)].add_(of_edge[spot]).relu_()
            moved.sub_(before[from_numpy(column)]).mul_(alpha[spot, None])
            found = pairs[alternative, column]
            change.index_add_(0, from_numpy(found), moved)
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
        logits = around.edges.weigh(slots, seen_from, ignore).double().expand(len(self._kept), -1).clone()
        kept = torch.ones(len(self._kept), len(slots), dtype=torch.bool)
        for edge in self._changed:
            logits[:, edge.partner_slot] = edge.partner_alpha_tilde
            kept[:, edge.partner_slot] = from_numpy(edge.is_left)
        alpha = around.normaliser(logits, DenseGroups(kept))
        which, slot = (each.numpy() for each in alpha.nonzero(as_tuple=True))
        used, place = np.unique(slot, return_inverse=True)
        e_tilde = around.edges.embed(slots[used], seen_from[used], ignore).double()[from_numpy(place)]
        for edge in self._changed:
            at = np.flatnonzero(slot == edge.partner_slot)
            e_tilde[from_numpy(at)] = edge.partner_e_tilde[from_numpy(which[at])]
        neighbour = around.graph.slot_neighbour[slots[slot]].astype(np.int64)
        z = around.z_0_of(neighbour)
        for changed_node, rows in ((self._base.node, self._z_0), (node, self._partners[node])):
            at = np.flatnonzero(neighbour == changed_node)
            z[from_numpy(at)] = rows[from_numpy(which[at])]
        weights = alpha[from_numpy(which), from_numpy(slot)]
        layer, owner = self._base.layers[0], from_numpy(which)
        hidden = torch.relu(layer.of_node(z) + layer.of_edge(e_tilde))
        size = len(self._kept)
        return segment_sum(weights[:, None] * hidden, owner, size), segment_sum(weights, owner, size)
