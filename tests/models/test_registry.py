"""The registry: every model by its name, for the tasks that it has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import Tensor

from gtea.config import Family, FeaturesConfig, InputSpec, ModelConfig, RunConfig, TrainConfig, read_config
from gtea.errors import UsageError
from gtea.features.neighbour_labels import NeighbourLabels
from gtea.features.pair_statistics import PAIR_STATISTICS
from gtea.features.preprocessing import input_spec, preprocessing_for
from gtea.ingestion.ingest import ingest
from gtea.models.boosted_trees import BoostedTrees
from gtea.models.registry import (
    BASELINES,
    DEFAULT_MODEL,
    GTEA_MODELS,
    GTEA_VARIANTS,
    MODELS,
    build_classifier,
    default_config,
    entry_of,
    model_config,
    require_classifier,
)
from gtea.store.memory import store_in_memory
from gtea.store.store import Store
from gtea.training.fit import train_task
from gtea.training.loop import no_report
from gtea.training.request import LinkRequest

CUT = 60


@pytest.fixture(scope="module")
def store() -> Store:
    chance = np.random.default_rng(0)
    src, dst = ([f"n{i:02}" for i in chance.integers(0, 12, 80)] for _ in range(2))
    return store_in_memory(src, dst, np.arange(80), features={"amount": chance.normal(size=80)}, unit="step")


def small(name: str, task: Any) -> RunConfig:
    sizes = ["model.d_node=8", "model.d_edge=8", "model.d_mlp=8", "model.d_time=4"]
    return read_config(None, sizes, default_config(model_config(name), task))


def test_the_models() -> None:
    assert tuple(MODELS) == ("hybrid", *GTEA_VARIANTS, *BASELINES)
    assert set(GTEA_MODELS) == {*GTEA_VARIANTS, "hybrid"}
    assert len(GTEA_VARIANTS) == 5
    assert DEFAULT_MODEL == "hybrid"
    assert {config.family for config in MODELS.values()} == set(get_args(Family))
    assert model_config("hybrid") == replace(model_config("gtea-l+t"), family="hybrid")


def test_every_family_has_an_entry() -> None:
    entries = {family: entry_of(ModelConfig(family=family)) for family in get_args(Family)}
    assert len({entry.title for entry in entries.values()}) == len(entries)
    assert {family for family, entry in entries.items() if entry.has_trees} == {"hybrid"}
    assert {family for family, entry in entries.items() if entry.exact} == {"hybrid", "gtea"}
    at_once = {"tree", "strong-tree", "edgebank"}
    assert {family for family, entry in entries.items() if not entry.samples} == at_once
    assert {family for family, entry in entries.items() if not entry.fitted_in_epochs} == at_once
    assert {family for family, entry in entries.items() if entry.reads_context} == {"strong-tree"}
    assert {family for family, entry in entries.items() if entry.classifier is None} == {"edgebank"}


@pytest.mark.parametrize("name", [name for name in MODELS if name != "edgebank"])
def test_every_classifier_is_built_and_answers(store: Store, name: str) -> None:
    config = small(name, "nodes")
    entry = entry_of(config.model)
    preprocessing = preprocessing_for(
        store,
        CUT,
        config,
        add_statistics=not entry.samples,
        add_context=entry.reads_context,
        for_trees=entry.has_trees,
        labels=NeighbourLabels(("bad", "good", "odd"), (), ()) if config.features.neighbour_labels else None,
    )
    network = build_classifier(config.model, input_spec(preprocessing), 3, 0).eval()
    with torch.no_grad():
        logits = network(entry.node_batches(store, CUT, preprocessing, config).batch(np.array([4, 0, 7])))
    assert logits.shape == (3, 3)
    assert torch.isfinite(logits).all()


@pytest.mark.parametrize("name", MODELS)
def test_every_predictor_is_built_and_answers(store: Store, name: str) -> None:
    config = small(name, "links")
    entry = entry_of(config.model)
    preprocessing = preprocessing_for(store, CUT, config, add_statistics=not entry.samples)
    network = entry.predictor(config.model, input_spec(preprocessing), 0).eval()
    with torch.no_grad():
        logits = network(
            entry.pair_batches(store, CUT, preprocessing, config).batch(np.array([4, 0]), np.array([1, 9]))
        )
    assert logits.shape == (2,)
    assert not torch.isnan(logits).any()


def test_edgebank_classifies_no_accounts() -> None:
    with pytest.raises(UsageError, match=r"edgebank: only predicts links\. Pass --task links"):
        require_classifier(model_config("edgebank"))


@pytest.mark.parametrize("name", MODELS)
def test_defaults_keep_the_model(name: str) -> None:
    model = model_config(name)
    nodes, links = default_config(model, "nodes"), default_config(model, "links")
    for found in (nodes.model, links.model):
        assert (found.family, found.encoder, found.time_encoding) == (model.family, model.encoder, model.time_encoding)
    assert links.train.metric == "average_precision"
    assert links.features.recency
    assert links.features.pair_statistics == (name in GTEA_MODELS)
    assert (links.model.link_head != "dot") == (name in GTEA_MODELS)
    assert not links.features.neighbour_labels
    assert links.model.node_limit == (2.0 if name == "hybrid" else 0.0)
    assert nodes.train.refit_trees == links.train.refit_trees == (name in ("hybrid", "tree", "strong-tree"))


def test_defaults_for_accounts() -> None:
    """Those of the paper, but for trees, whose probabilities class weights would bend."""
    trees = TrainConfig(class_weights=False, refit_trees=True)
    expected = {
        "hybrid": RunConfig(
            replace(model_config("hybrid"), node_limit=2.0),
            FeaturesConfig(neighbour_labels=True),
            train=replace(trees, metric="log_likelihood"),
        ),
        "tree": RunConfig(model_config("tree"), train=trees),
        "strong-tree": RunConfig(model_config("strong-tree"), FeaturesConfig(neighbour_labels=True), train=trees),
    }
    for name in MODELS:
        assert default_config(model_config(name), "nodes") == expected.get(name, RunConfig(model_config(name)))


@pytest.mark.parametrize("task", ["nodes", "links"])
@pytest.mark.parametrize("name", ["tree", "strong-tree"])
def test_trees_are_as_strong_as_their_name_says(store: Store, name: str, task: Any) -> None:
    config = small(name, task)
    entry = entry_of(config.model)
    spec = InputSpec(4, 2, 0.1, 10.0)
    made = build_classifier(config.model, spec, 2, 0) if task == "nodes" else entry.predictor(config.model, spec, 0)
    assert isinstance(made, BoostedTrees)
    rows = torch.randn(300, 4 if task == "nodes" else len(PAIR_STATISTICS), generator=torch.Generator().manual_seed(0))
    made.fit(rows, (rows[:, 0] > 0).float(), torch.ones(300))
    assert len(cast(Tensor, made.tree_root)) == (200 if name == "strong-tree" else 100)


def test_settings_of_the_strong_tree_for_links_are_valid(tmp_path: Path, store: Store) -> None:
    """It reads pair statistics there, and no labels, partners or rhythm of accounts."""
    chance = np.random.default_rng(1)
    src, dst = ([f"n{i:02}" for i in chance.integers(0, 12, 300)] for _ in range(2))
    columns = {"src": src, "dst": dst, "time": np.arange(300), "amount": chance.normal(size=300)}
    events = ingest(
        pa.table(columns), src="src", dst="dst", time="time", features=["amount"], time_unit="step", out=tmp_path / "s"
    )
    request = LinkRequest.read(events.path, variant="strong-tree", device="cpu")
    assert not request.config.features.neighbour_labels
    made = train_task(request.once(tmp_path / "m"), no_report)
    assert made.preprocessing["nodes"]["kinds"] == ("statistics",)
    assert made.preprocessing["tree_nodes"] is None
    wrong = LinkRequest.read(events.path, variant="strong-tree", settings=["features.neighbour_labels=true"])
    with pytest.raises(UsageError, match=r"features\.neighbour_labels: needs account labels"):
        train_task(wrong.once(tmp_path / "n"), no_report)


def test_the_papers_link_head_can_be_asked_for() -> None:
    config = read_config(None, ["model.link_head=dot"], default_config(model_config("gtea-l"), "links"))
    assert config.model.link_head == "dot"


@pytest.mark.parametrize("task", ["nodes", "links"])
def test_the_family_is_no_setting(gtea: Any, tmp_path: Path, task: str) -> None:
    words = ("train", tmp_path / "s", *(("--labels", "l.csv") if task == "nodes" else ("--task", "links")))
    outcome = gtea(*words, "--no-verify", "--set", "model.family=tree", "--out", tmp_path / "m")
    assert outcome.code == 2
    assert "model.family: is set by the model's name (got 'tree'" in outcome.err
    assert "Pass --variant tree." in outcome.err


def test_the_old_name_of_the_hybrid_is_refused() -> None:
    with pytest.raises(UsageError, match=r"variant must be one of 'hybrid', .* \(got 'gtea\+tree'\)"):
        model_config("gtea+tree")
