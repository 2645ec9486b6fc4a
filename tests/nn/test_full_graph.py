"""The layers over a whole graph: Eq. 6 taken apart gives what it gives in one piece."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from tests.nn.examples import SPEC, random_batch, seeded

from gtea.config import Attention, ModelConfig
from gtea.nn.batch import Slots
from gtea.nn.full_graph import aggregate_graph, attend_all, attended_run, sum_first_layer
from gtea.nn.model import GTEA


@pytest.mark.parametrize("part", [1, 3, 1000])
@pytest.mark.parametrize(("d_node", "limit"), [(0, 0.0), (3, 0.0), (3, 0.5)])
@pytest.mark.parametrize("num_within", [(9, 9, 9), (2, 5, 9)], ids=["whole graph", "full_subgraph"])
@pytest.mark.parametrize("attention", ["sparsemax", "softmax", "entmax15"])
def test_it_equals_the_batch(
    attention: Attention, num_within: tuple[int, ...], d_node: int, limit: float, part: int
) -> None:
    batch = random_batch(num_within, fan_out=5, seed=3, d_node=d_node)
    spec = dataclasses.replace(SPEC, d_node_features=d_node)
    config = ModelConfig(attention=attention, node_limit=limit)
    model = GTEA(config, spec, seeded(5)).double().eval()
    with torch.no_grad():
        model.edge_encoder.a.mul_(10)
        present = batch.edge >= 0
        offset = torch.cat([torch.zeros(1, dtype=torch.int64), present.sum(1).cumsum(0)])
        edge = batch.edge[present]
        e_tilde, alpha_tilde = model.edge_encoder(batch.histories)
        runs = []
        for targets in (range(2), range(2, len(offset) - 1)):
            own = offset[targets.start : targets.stop + 1]
            looks = slice(int(own[0]), int(own[-1]))
            slots = attend_all(model, alpha_tilde[edge][looks], own - own[0], batch.neighbour[present][looks])
            runs.append(attended_run(targets, slots, e_tilde[edge][looks][slots.edge]))
        z = aggregate_graph(model, batch.node_features, runs, batch.num_within, part=part)
        torch.testing.assert_close(z, model(batch), atol=1e-12, rtol=0)


@pytest.mark.parametrize("limit", [0.0, 0.5])
def test_neighbours_summed_in_parts_before_the_first_layer_give_the_same(limit: float) -> None:
    """A hub of five neighbours, of which two are summed first and then three."""
    generator = seeded(1)
    model = GTEA(ModelConfig(num_layers=1, node_limit=limit), SPEC, seeded(5)).double().eval()
    x = torch.randn(6, SPEC.d_node_features, dtype=torch.float64, generator=generator)
    e_tilde = torch.randn(5, model.edge_encoder.d_edge, dtype=torch.float64, generator=generator)
    alpha = torch.rand(5, dtype=torch.float64, generator=generator)
    slots = Slots(torch.zeros(5, dtype=torch.int64), torch.arange(1, 6), torch.arange(5), alpha)
    whole = aggregate_graph(model, x, [attended_run(range(1), slots, e_tilde)], (1, 6))
    first, second = (
        sum_first_layer(model, x, attended_run(range(1), slots.part(some), e_tilde[some]))
        for some in (slice(2), slice(2, 5))
    )
    torch.testing.assert_close(aggregate_graph(model, x[:1], [first.plus(second)], (1, 1)), whole, atol=1e-12, rtol=0)


def test_weighing_alone_gives_the_same_logits() -> None:
    batch = random_batch(seed=2)
    model = GTEA(ModelConfig(), SPEC, seeded(5)).double()
    assert torch.equal(model.edge_encoder.attention_logits(batch.histories), model.edge_encoder(batch.histories)[1])
