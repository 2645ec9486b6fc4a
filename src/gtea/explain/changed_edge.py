"""One edge of an account with fewer events, encoded as seen from both of its ends, in many alternatives."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, from_numpy

from gtea.explain.encoded_view import EncodedView
from gtea.features.alternatives import Alternatives


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

    def part(self, some: slice) -> ChangedEdge:
        """The same edge in some of the alternatives."""
        return replace(
            self,
            is_left=self.is_left[some],
            e_tilde=self.e_tilde[some],
            alpha_tilde=self.alpha_tilde[some],
            partner_e_tilde=self.partner_e_tilde[some],
            partner_alpha_tilde=self.partner_alpha_tilde[some],
        )


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
