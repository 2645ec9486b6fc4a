"""Weights that are not those of the settings: refused before memory is taken for them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.models.documents import PREPROCESSING

from gtea.config import InputSpec, ModelConfig, RunConfig
from gtea.errors import ModelError
from gtea.models.model_folder import SavedModel
from gtea.models.registry import MODELS, build_classifier, entry_of
from gtea.models.saved_network import saved_network

SMALL: dict[str, Any] = {"d_node": 8, "d_edge": 8, "d_mlp": 8, "d_time": 4}
SPEC = InputSpec(3, 2, 1.0, 2.0, d_pair_statistics=4)


def made(name: str, task: str = "nodes", **settings: Any) -> SavedModel:
    """An untrained model of that name; its settings can be changed after its weights were made."""
    config = dataclasses.replace(MODELS[name], **SMALL)
    entry = entry_of(config)
    network = build_classifier(config, SPEC, 2, 1) if task == "nodes" else entry.predictor(config, SPEC, 1)
    run = RunConfig(config).to_json()
    run["model"] |= settings
    described = {"task": task, "classes": ["a", "b"], "positive": "a", "input": dataclasses.asdict(SPEC), "run": run}
    return SavedModel(network.state_dict(), described, PREPROCESSING, {}, {}, folder=Path("m"))


@pytest.mark.parametrize("task", ["nodes", "links"])
@pytest.mark.parametrize("name", MODELS)
def test_the_weights_of_every_model_fit(name: str, task: str) -> None:
    if task == "nodes" and entry_of(MODELS[name]).classifier is None:
        return
    model = made(name, task)
    found = saved_network(model).state_dict()
    assert all(torch.equal(found[key], tensor) for key, tensor in model.weights.items())


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        *((name, {"d_node": 60_000}) for name, config in MODELS.items() if entry_of(config).fitted_in_epochs),
        *((name, {"d_mlp": 60_000}) for name in ("hybrid", "gcn", "ecconv", "tgat")),
        *((name, {"d_edge": 60_000}) for name in ("gtea-l+t", "gtea-tx")),
        ("gtea-l+t", {"d_time": 60_000}),
        ("tgat", {"d_time": 60_000}),
        ("gat", {"num_heads": 50_000, "d_node": 50_000}),
        ("egnn", {"d_node": 60_000, "num_layers": 1}),
    ],
)
def test_no_memory_is_taken_for_weights_that_are_not_there(name: str, settings: dict[str, Any]) -> None:
    before = torch.rand  # The limit is over when the network has been built.
    with pytest.raises(ModelError, match=r"m/model\.safetensors: its weights do not fit its configuration \(its set"):
        saved_network(made(name, **settings))
    assert torch.rand is before
    assert torch.rand(10_000).shape == (10_000,)


def test_a_size_of_the_input_is_a_size_like_any_other() -> None:
    model = made("gtea-l+t")
    model.config["input"]["d_event_features"] = 2**24
    with pytest.raises(ModelError, match=r"its settings need more weights than the [0-9,]+ that it has"):
        saved_network(model)


NAME = "head.mlp_3.into.weight"


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({NAME: torch.zeros(8, 9)}, rf"{NAME} must be torch.float32 of shape \[8, 8\] \(got torch.float32 of shape"),
        ({NAME: torch.zeros(8, 8, dtype=torch.float64)}, r"\(got torch.float64 of shape \[8, 8\]\)"),
        ({NAME: torch.full((8, 8), torch.nan)}, f"{NAME} must be finite numbers"),
        ({"more": torch.zeros(1)}, "the names of the weights must be those of its settings .not so: 'more'"),
        ({"tree.node_left": torch.zeros(2, 2)}, r"tree.node_left must be a list of torch.int64 \(got torch.float32"),
        ({"tree.node_value": torch.zeros(0, dtype=torch.bfloat16)}, "must be a list of torch.float64"),
    ],
)
def test_weights_of_other_names_sizes_types_and_values(weights: dict[str, torch.Tensor], message: str) -> None:
    model = made("hybrid")
    with pytest.raises(ModelError, match=message):
        saved_network(dataclasses.replace(model, weights={**model.weights, **weights}))


def test_settings_that_contradict_each_other() -> None:
    model = made("hybrid", "links")
    model.config["input"]["d_pair_statistics"] = 0
    with pytest.raises(ModelError, match=r"features\.pair_statistics must be true for a hybrid link model"):
        saved_network(model)


def test_trees_are_checked_by_themselves() -> None:
    model = made("hybrid")
    weights = {**model.weights, "tree.tree_root": torch.tensor([5]), "tree.tree_class": torch.tensor([0])}
    with pytest.raises(ModelError, match=r"m/model\.safetensors: its trees are inconsistent\. The model is damaged"):
        saved_network(dataclasses.replace(model, weights=weights))
    assert ModelConfig(family="hybrid") == MODELS["hybrid"]
