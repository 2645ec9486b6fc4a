"""Every layered baseline against its published equations written as plain loops, values and gradients."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from tests.models import naive
from tests.models.examples import SMALL, batch_with_degrees, event_batch
from tests.nn.examples import SPEC, seeded
from tests.paper.agreement import assert_agrees, both_precisions
from tests.paper.naive import graph_of

from gtea.models.ecconv import ECConv
from gtea.models.egnn import EGNN
from gtea.models.gat import GAT
from gtea.models.gcn import GCN
from gtea.models.graphsage import GraphSAGE
from gtea.models.tgat import TGAT

LOOPS = {GraphSAGE: naive.graphsage, GAT: naive.gat, ECConv: naive.ecconv, EGNN: naive.egnn}
every_depth = pytest.mark.parametrize("depth", [1, 2])


def sized(depth: int):
    return dataclasses.replace(SMALL, num_layers=depth)


@both_precisions
@every_depth
@pytest.mark.parametrize("build", LOOPS, ids=lambda build: build.__name__)
def test_it_is_the_published_equation(build, depth: int, dtype: torch.dtype) -> None:
    num_within = (3, 7, 12)[: depth + 1]
    batch, exact = (batch_with_degrees(dtype=kind, num_within=num_within) for kind in (dtype, torch.float64))
    graph, x = graph_of(exact)

    def one_by_one(model) -> torch.Tensor:
        return torch.stack(LOOPS[build](model, graph, x)[:3])

    assert_agrees(build(sized(depth), SPEC, seeded()), lambda model: model(batch), one_by_one, dtype)


@both_precisions
@every_depth
def test_gcn_is_the_published_equation(depth: int, dtype: torch.dtype) -> None:
    num_within = (3, 7, 12)[: depth + 1]
    batch, exact = (batch_with_degrees(dtype=kind, num_within=num_within) for kind in (dtype, torch.float64))
    graph, x = graph_of(exact)

    def one_by_one(model: GCN) -> torch.Tensor:
        return torch.stack(naive.gcn(model, graph, x, exact.degree.tolist())[:3])

    assert_agrees(GCN(sized(depth), SPEC, seeded()), lambda model: model(batch), one_by_one, dtype)


@both_precisions
def test_tgat_is_the_published_equation(dtype: torch.dtype) -> None:
    batch, exact = event_batch(dtype=dtype), event_batch()

    def one_by_one(model: TGAT) -> torch.Tensor:
        return torch.stack(naive.tgat(model, exact))

    assert_agrees(TGAT(SMALL, SPEC, seeded()), lambda model: model(batch), one_by_one, dtype)


@pytest.mark.parametrize("build", [GCN, *LOOPS, TGAT], ids=lambda build: build.__name__)
def test_every_weight_gets_a_gradient_and_comes_from_the_generator(build) -> None:
    state = torch.get_rng_state()
    first, again, other = (build(SMALL, SPEC, seeded(seed)) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), state)
    for name, weight in first.named_parameters():
        assert torch.equal(weight, again.get_parameter(name))
    assert any(not torch.equal(weight, other.get_parameter(name)) for name, weight in first.named_parameters())
    batch = event_batch(dtype=torch.float32) if build is TGAT else batch_with_degrees(dtype=torch.float32)
    first(batch).square().sum().backward()
    assert [name for name, weight in first.named_parameters() if weight.grad is None or not weight.grad.any()] == []
