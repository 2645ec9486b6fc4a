"""Eq. 6 and 7: weighted sum of MLP_1 over the neighbours, then MLP_2."""

from __future__ import annotations

import torch
from tests.nn.examples import seeded
from tests.paper import naive
from tests.paper.agreement import assert_agrees, both_precisions

from gtea.nn.batch import Slots
from gtea.nn.model import AggregationLayer

OFFSET = torch.tensor([0, 3, 3, 5])
NEIGHBOUR = torch.tensor([1, 4, 2, 0, 1])
EDGE = torch.tensor([0, 1, 2, 0, 3])
ALPHA = torch.tensor([0.5, 0.0, 0.5, 0.25, 0.75], dtype=torch.float64)
Z = torch.randn(5, 3, generator=seeded(1), dtype=torch.float64)
E_TILDE = torch.randn(4, 2, generator=seeded(2), dtype=torch.float64)


def one_by_one(layer: AggregationLayer) -> torch.Tensor:
    renewed = []
    for u in range(3):
        slots = range(int(OFFSET[u]), int(OFFSET[u + 1]))
        neighbours = [(ALPHA[slot], Z[NEIGHBOUR[slot]], E_TILDE[EDGE[slot]]) for slot in slots]
        renewed.append(naive.update(layer.mlp_2, Z[u], naive.aggregate(layer.mlp_1, neighbours)))
    return torch.stack(renewed)


@both_precisions
def test_layer(dtype: torch.dtype) -> None:
    slots = Slots.of_graph(OFFSET, NEIGHBOUR, EDGE, ALPHA.to(dtype))
    layer = AggregationLayer(3, 2, 4, 5, 0.0, seeded())
    z, e_tilde = Z.to(dtype), E_TILDE.to(dtype)
    assert_agrees(layer, lambda quick: quick(z[:3], z, e_tilde, slots), one_by_one, dtype)
