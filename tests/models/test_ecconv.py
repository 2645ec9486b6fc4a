"""ECConv: the published equation, and PyG's layer."""

from __future__ import annotations

import torch
from tests.models import naive
from tests.models.equations import TARGETS, assert_is_the_equation, every_depth, pyg, sample
from tests.nn.examples import seeded
from tests.paper.agreement import both_precisions
from torch import nn

from gtea.models.ecconv import ECConv, ECConvLayer


@both_precisions
@every_depth
def test_it_is_the_published_equation(depth: int, dtype: torch.dtype) -> None:
    assert_is_the_equation(ECConv, lambda model, graph, x, degrees: naive.ecconv(model, graph, x), depth, dtype)


def test_it_is_pygs_layer() -> None:
    conv = pyg()
    x, slots, index = sample()
    edges = torch.randn(14, 6, generator=seeded(3), dtype=torch.float64)
    layer = ECConvLayer(3, 6, 4, 5, seeded()).double()
    net = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 12)).double()
    rival = conv.NNConv((3, 3), 4, net, aggr="mean").double()
    with torch.no_grad():
        net[0].load_state_dict(layer.into.state_dict())
        assert isinstance(net[2], nn.Linear)
        # PyG multiplies from the left: its matrices are ours turned over.
        net[2].weight.copy_(layer.filter.weight.view(4, 3, 5).transpose(0, 1).reshape(12, 5))
        net[2].bias.copy_(layer.filter.bias.view(4, 3).T.reshape(12))
        rival.lin.weight.copy_(layer.root.weight)
        rival.bias.copy_(layer.root.bias)
    answer = rival((x, x[:TARGETS]), index, edges[slots.edge])
    assert torch.allclose(layer(x[:TARGETS], x, slots, edges), answer, atol=1e-12)
