"""The layer: order, chunks of targets, and nodes without neighbours."""

from __future__ import annotations

import torch
from tests.nn.examples import seeded

from gtea.nn.batch import Slots
from gtea.nn.model import AggregationLayer

OFFSET = torch.tensor([0, 4, 4, 6, 9])
NEIGHBOUR = torch.tensor([1, 2, 3, 0, 3, 1, 2, 0, 1])
EDGE = torch.arange(9)
ALPHA = torch.rand(9, generator=seeded(1))
Z = torch.randn(4, 3, generator=seeded(2))
E_TILDE = torch.randn(9, 5, generator=seeded(3))
LAYER = AggregationLayer(3, 5, 4, 6, 0.0, seeded())


def test_the_order_of_a_targets_neighbours_changes_nothing() -> None:
    straight = LAYER(Z, Z, E_TILDE, Slots.of_graph(OFFSET, NEIGHBOUR, EDGE, ALPHA))
    mixed = torch.tensor([2, 0, 3, 1, 5, 4, 8, 6, 7])
    other = LAYER(Z, Z, E_TILDE, Slots.of_graph(OFFSET, NEIGHBOUR[mixed], EDGE[mixed], ALPHA[mixed]))
    torch.testing.assert_close(other, straight, atol=1e-6, rtol=0)


def test_a_graph_in_two_parts_is_the_graph() -> None:
    """Whole graphs are scored some targets at a time."""
    whole = LAYER(Z, Z, E_TILDE, Slots.of_graph(OFFSET, NEIGHBOUR, EDGE, ALPHA))
    first = Slots.of_graph(OFFSET[:3], NEIGHBOUR[:4], EDGE[:4], ALPHA[:4])
    second = Slots.of_graph(OFFSET[2:] - 4, NEIGHBOUR[4:], EDGE[4:], ALPHA[4:])
    parts = [LAYER(Z[:2], Z, E_TILDE, first), LAYER(Z[2:], Z, E_TILDE, second)]
    torch.testing.assert_close(torch.cat(parts), whole, atol=1e-6, rtol=0)


def test_without_neighbours_only_the_node_itself_counts() -> None:
    slots = Slots.of_graph(OFFSET, NEIGHBOUR, EDGE, ALPHA)
    alone = LAYER.mlp_2(torch.cat([Z[1], torch.zeros(4)]))
    torch.testing.assert_close(LAYER(Z, Z, E_TILDE, slots)[1], alone)
