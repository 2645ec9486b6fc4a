"""GraphSAGE: the published equation, and PyG's layer."""

from __future__ import annotations

import torch
from tests.models import naive
from tests.models.equations import TARGETS, assert_is_the_equation, every_depth, pyg, sample
from tests.nn.examples import seeded
from tests.paper.agreement import both_precisions

from gtea.models.graphsage import GraphSAGE, GraphSAGELayer


@both_precisions
@every_depth
def test_it_is_the_published_equation(depth: int, dtype: torch.dtype) -> None:
    assert_is_the_equation(GraphSAGE, lambda model, graph, x, degrees: naive.graphsage(model, graph, x), depth, dtype)


def test_it_is_pygs_layer() -> None:
    conv = pyg()
    x, slots, index = sample()
    layer, rival = GraphSAGELayer(3, 4, seeded()).double(), conv.SAGEConv((3, 3), 4).double()
    with torch.no_grad():
        rival.lin_r.weight.copy_(layer.map.weight[:, :3])
        rival.lin_l.weight.copy_(layer.map.weight[:, 3:])
        rival.lin_l.bias.copy_(layer.map.bias)
    assert torch.allclose(layer(x[:TARGETS], x, slots, None), rival((x, x[:TARGETS]), index), atol=1e-12)
