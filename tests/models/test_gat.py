"""GAT: the published equation, and PyG's layer."""

from __future__ import annotations

import pytest
import torch
from tests.models import naive
from tests.models.equations import TARGETS, assert_is_the_equation, every_depth, pyg, sample
from tests.models.examples import batch_with_degrees
from tests.nn.examples import seeded
from tests.paper.agreement import both_precisions

from gtea.models.gat import GAT, GATLayer
from gtea.models.layered import self_and_neighbours


@both_precisions
@every_depth
def test_it_is_the_published_equation(depth: int, dtype: torch.dtype) -> None:
    assert_is_the_equation(GAT, lambda model, graph, x, degrees: naive.gat(model, graph, x), depth, dtype)


@pytest.mark.parametrize("last", [False, True])
def test_it_is_pygs_layer(last: bool) -> None:
    conv = pyg()
    x, slots, index = sample()
    layer = GATLayer(3, 4, 2, last, seeded()).double()
    rival = conv.GATConv(3, layer.w.shape[2], heads=2, concat=not last, add_self_loops=False).double()
    with torch.no_grad():
        rival.lin.weight.copy_(layer.w.transpose(1, 2).reshape(-1, 3))
        rival.att_dst.copy_(layer.a_target[None])
        rival.att_src.copy_(layer.a_neighbour[None])
    itself = torch.arange(TARGETS).repeat(2, 1)
    answer = rival((x, x[:TARGETS]), torch.cat([index, itself], dim=1))
    assert torch.allclose(layer(x[:TARGETS], x, slots, self_and_neighbours(batch_with_degrees())), answer, atol=1e-12)
