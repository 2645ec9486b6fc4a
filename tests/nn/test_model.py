"""The whole model: invariances, whole graphs, seeds, precision, devices."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.nn.allocation import largest_tensor
from tests.nn.examples import SPEC, histories_of, part_of, random_batch, seeded

from gtea.config import InputSpec, ModelConfig
from gtea.models.registry import GTEA_VARIANTS, model_config
from gtea.nn.batch import Batch, Slots
from gtea.nn.groups import SegmentGroups
from gtea.nn.model import GTEA

every_variant = pytest.mark.parametrize("name", GTEA_VARIANTS)


def model_of(name: str, **changes: object) -> GTEA:
    model = GTEA(dataclasses.replace(model_config(name), **changes), SPEC, seeded(5))  # type: ignore[arg-type]
    with torch.no_grad():
        model.edge_encoder.a.mul_(10)
    return model


@every_variant
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_neighbours_edges_and_nodes_changes_nothing(name: str, seed: int) -> None:
    batch = random_batch(seed=seed % 50, dtype=torch.float32)
    model = model_of(name)
    with torch.no_grad():
        torch.testing.assert_close(model(shuffled(batch, seed)), model(batch), atol=1e-6, rtol=1e-5)


def shuffled(batch: Batch, seed: int) -> Batch:
    """The same attended_run: neighbours in other places, edges and the outermost nodes under other numbers."""
    generator = seeded(seed)
    places = torch.stack([torch.randperm(batch.edge.shape[1], generator=generator) for _ in batch.edge])
    edges = torch.randperm(batch.histories.num_edges, generator=generator)
    inner, num_nodes = batch.num_within[-2], batch.num_within[-1]
    nodes = torch.cat([torch.arange(inner), inner + torch.randperm(num_nodes - inner, generator=generator)])
    return dataclasses.replace(
        batch,
        node_features=batch.node_features[nodes],
        neighbour=renumbered(batch.neighbour, nodes).gather(1, places),
        edge=renumbered(batch.edge, edges).gather(1, places),
        histories=part_of(batch.histories, edges.tolist()),
    )


def renumbered(table: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """Place i now holds what order[i] held; -1 stays."""
    return torch.cat([order.argsort(), torch.tensor([-1])])[table]


@every_variant
def test_a_whole_graph_by_segments_equals_a_batch_of_all_nodes(name: str) -> None:
    """Exact scoring: the same parameters on slots and offsets, every layer renewing every node."""
    batch = random_batch((9, 9, 9), fan_out=5, seed=3)
    model = model_of(name).double()
    present = batch.edge >= 0
    offset = torch.cat([torch.zeros(1, dtype=torch.int64), present.sum(1).cumsum(0)])
    neighbour, edge = batch.neighbour[present], batch.edge[present]
    e_tilde, alpha_tilde = model.edge_encoder(batch.histories)
    alpha = model.normaliser(alpha_tilde[edge], SegmentGroups(offset, len(edge)))
    slots = Slots.of_graph(offset, neighbour, edge, alpha)
    whole = model.aggregate(batch.node_features, e_tilde, slots, [9] * 3)
    torch.testing.assert_close(whole, model(batch), atol=1e-12, rtol=0)


def test_node_features_beyond_the_limit_count_as_the_limit() -> None:
    batch = random_batch((9, 9, 9), fan_out=5, seed=3)
    far = dataclasses.replace(batch, node_features=batch.node_features * 100)
    held = dataclasses.replace(batch, node_features=(batch.node_features * 100).clamp(-2, 2))
    free = GTEA(model_config("gtea-l"), SPEC, seeded(1)).double()
    limited = GTEA(dataclasses.replace(model_config("gtea-l"), node_limit=2.0), SPEC, seeded(1)).double()
    torch.testing.assert_close(limited(far), free(held), atol=0, rtol=0)
    assert not torch.allclose(limited(far), free(far))


@every_variant
def test_the_weights_are_a_function_of_the_seed(name: str) -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    one = GTEA(model_config(name), SPEC, seeded(1)).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(99)
    same, other = (GTEA(model_config(name), SPEC, seeded(seed)).state_dict() for seed in (1, 2))
    assert all(torch.equal(one[key], same[key]) for key in one)
    assert any(not torch.equal(one[key], other[key]) for key in one)


@every_variant
def test_every_parameter_gets_a_gradient(name: str) -> None:
    model = GTEA(dataclasses.replace(model_config(name), num_encoder_layers=2), SPEC, seeded(5))
    model(random_batch(dtype=torch.float32)).square().sum().backward()
    assert [key for key, p in model.named_parameters() if p.grad is None or not p.grad.any()] == []


@every_variant
def test_the_model_has_its_own_precision_and_answers_in_it(name: str) -> None:
    batch = random_batch(dtype=torch.float32)
    single, double = model_of(name), model_of(name).double()
    assert single(batch).dtype == torch.float32
    assert double(batch).dtype == torch.float64
    torch.testing.assert_close(single(batch).double(), double(batch), atol=1e-4, rtol=1e-4)


def test_attention_comes_with_the_embedding() -> None:
    batch = random_batch(dtype=torch.float32)
    model = model_of("gtea-l+t")
    embedding = model.embed(batch)
    assert torch.equal(embedding.z, model(batch))
    assert embedding.alpha.shape == batch.edge.shape
    present = batch.edge >= 0
    assert not embedding.alpha[~present].any()
    torch.testing.assert_close(embedding.alpha.sum(1), present.any(1).float())


def test_seeds_that_nobody_knows() -> None:
    """No neighbour and no edge in the whole batch: only the nodes' own features count."""
    nothing = torch.full((2, 3), -1)
    batch = Batch((2, 2, 2), torch.rand(2, 3), nothing, nothing, histories_of([], dtype=torch.float32))
    for name in GTEA_VARIANTS:
        z = model_of(name)(batch)
        assert z.shape == (2, 64)
        assert z.isfinite().all()
        assert not torch.equal(z[0], z[1])


def test_nodes_without_features_or_neighbours_are_all_alike() -> None:
    nothing = torch.full((2, 3), -1)
    batch = Batch((2, 2, 2), torch.empty(2, 0), nothing, nothing, histories_of([], dtype=torch.float32))
    z = GTEA(ModelConfig(), InputSpec(0, 2, 1.0, 10.0), seeded())(batch)
    assert z.isfinite().all()
    assert torch.equal(z[0], z[1])


def test_what_the_attention_discards_costs_nothing() -> None:
    """Of ten neighbours each, one is wanted: MLP_1 sees one slot per target."""
    num_targets, fan_out = 40, 10
    edge = torch.arange(num_targets * fan_out).view(num_targets, fan_out)
    batch = Batch(
        (num_targets, num_targets),
        torch.rand(num_targets, 3),
        edge % num_targets,
        edge,
        histories_of([1] * edge.numel(), dtype=torch.float32),
    )
    model = GTEA(dataclasses.replace(model_config("gtea-he"), num_layers=1, d_mlp=4096), SPEC, seeded())
    with torch.no_grad():
        model.edge_encoder.a.mul_(1e6)
    assert largest_tensor(lambda: model(batch)) < num_targets * fan_out * 4096 / 3


@every_variant
def test_a_broken_feature_is_not_hidden(name: str) -> None:
    """NaN in, NaN out, for the seeds that it reaches and for no others."""
    batch = random_batch((3, 7), seed=4, dtype=torch.float32)
    features = batch.histories.features.clone()
    edge = int(batch.edge[0].max())
    features[int(batch.histories.offset[edge])] = torch.nan
    reached = (batch.edge[:3] == edge).any(1)
    broken = dataclasses.replace(batch, histories=dataclasses.replace(batch.histories, features=features))
    assert torch.equal(model_of(name, num_layers=1)(broken).isnan().any(1), reached)


def test_a_batch_of_other_depth_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        model_of("gtea-l")(random_batch((3, 7), dtype=torch.float32))


@every_variant
def test_every_tensor_is_made_on_the_device_of_the_input(name: str) -> None:
    """With another default device, a tensor made without naming one would meet the batch and be refused."""
    batch = random_batch(dtype=torch.float32)
    model = model_of(name, num_encoder_layers=2)
    expected = model(batch)
    with torch.device("meta"):
        z = model(batch)
    assert torch.equal(z, expected)
