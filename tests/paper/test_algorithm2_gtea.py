"""Algorithm 2: the whole model against the paper's loop, for every variant and every normaliser."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from tests.nn.examples import SPEC, random_batch, seeded
from tests.paper import naive
from tests.paper.agreement import assert_agrees, both_precisions

from gtea.config import InputSpec, ModelConfig
from gtea.models.registry import GTEA_VARIANTS, model_config
from gtea.nn.batch import Batch
from gtea.nn.model import GTEA

SMALL: dict[str, Any] = {"d_node": 6, "d_edge": 8, "d_time": 5, "d_mlp": 7}


def check(config: ModelConfig, batch: Batch, dtype: torch.dtype, spec: InputSpec = SPEC) -> None:
    graph, x = naive.graph_of(batch)

    def slow(model: GTEA) -> torch.Tensor:
        return torch.stack(naive.gtea(model, graph, x, config.attention)[: batch.num_within[0]])

    # Logits differ more than at the start of training, so that the sparse normalisers have something to discard.
    model = GTEA(config, spec, seeded(3))
    with torch.no_grad():
        model.edge_encoder.a.mul_(10)
    assert_agrees(model, lambda quick: quick(batch), slow, dtype)


@both_precisions
@pytest.mark.parametrize("name", GTEA_VARIANTS)
def test_every_variant_is_algorithm_2(name: str, dtype: torch.dtype) -> None:
    check(dataclasses.replace(model_config(name), **SMALL), random_batch(seed=1), dtype)


@both_precisions
@pytest.mark.parametrize("attention", ["softmax", "entmax15"])
def test_every_normaliser(attention: str, dtype: torch.dtype) -> None:
    check(ModelConfig(attention=attention, **SMALL), random_batch(seed=2), dtype)  # type: ignore[arg-type]


@both_precisions
@pytest.mark.parametrize("num_within", [(4, 9), (2, 4, 6, 9)], ids=["one layer", "three layers"])
def test_every_depth(num_within: tuple[int, ...], dtype: torch.dtype) -> None:
    config = ModelConfig(encoder="statistics", num_layers=len(num_within) - 1, **SMALL)
    check(config, random_batch(num_within, seed=3), dtype)


@pytest.mark.parametrize("encoder", ["lstm", "transformer"])
def test_deep_encoders(encoder: str) -> None:
    config = ModelConfig(encoder=encoder, num_encoder_layers=2, num_layers=1, **SMALL)  # type: ignore[arg-type]
    check(config, random_batch((4, 7), num_edges=6, fan_out=3, seed=4), torch.float64)


@both_precisions
def test_nodes_without_features(dtype: torch.dtype) -> None:
    spec = dataclasses.replace(SPEC, d_node_features=0)
    check(ModelConfig(encoder="statistics", **SMALL), random_batch(d_node=0, seed=5), dtype, spec)


def test_the_example_has_sparse_weights_shared_edges_and_an_empty_history() -> None:
    batch = random_batch(seed=1)
    model = GTEA(dataclasses.replace(model_config("gtea-l+t"), **SMALL), SPEC, seeded(3)).double()
    with torch.no_grad():
        model.edge_encoder.a.mul_(10)
    alpha = model.embed(batch).alpha
    present = batch.edge >= 0
    assert (alpha[present] == 0).any()
    assert len(batch.edge[present].unique()) < int(present.sum())
    assert (batch.edge[present] == 0).any()
    assert not present[1].any()
