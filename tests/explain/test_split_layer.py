"""A split layer is the layer."""

from __future__ import annotations

import torch

from gtea.explain.split_layer import split_layers
from gtea.nn.batch import Slots
from gtea.nn.model import AggregationLayer
from gtea.nn.segments import segment_sum


def test_it_is_the_layer() -> None:
    generator = torch.Generator().manual_seed(0)
    layer = AggregationLayer(5, 4, 6, 7, 0.0, generator)
    (split,) = split_layers([layer])
    z, e_tilde = torch.randn(8, 5, generator=generator), torch.randn(10, 4, generator=generator)
    target = torch.tensor([0, 0, 0, 1, 1, 3, 3, 3, 3, 3])
    alpha, neighbour = torch.rand(10, generator=generator), torch.arange(10) % 8
    truth = layer(z[:4], z, e_tilde, Slots(target, neighbour, torch.arange(10), alpha))
    hidden = torch.relu(split.of_node(z.double())[neighbour] + split.of_edge(e_tilde.double()))
    total, weight = segment_sum(alpha.double()[:, None] * hidden, target, 4), segment_sum(alpha.double(), target, 4)
    found = split.out(split.before(z[:4].double(), total, weight))
    torch.testing.assert_close(found.float(), truth, atol=1e-6, rtol=1e-5)
