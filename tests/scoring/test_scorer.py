"""Models made ready: exact answers are the sampled ones of a sampler that needn't choose."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from gtea.config import FeaturesConfig, ModelConfig, RunConfig, SamplingConfig
from gtea.errors import ModelError
from gtea.features.neighbour_labels import neighbour_labels_of
from gtea.features.preprocessing import input_spec, preprocessing_for
from gtea.models.gtea import GTEALinkNetwork, GTEANodeClassifier
from gtea.models.model_folder import SavedModel
from gtea.scoring.options import EXACT, ScoringOptions
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.store import Store

CPU = torch.device("cpu")
CUT = 150
SAMPLED = ScoringOptions(sampled=True)
both_directions = pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])


def saved_model(
    store: Store, task: str, *, pairs: bool = False, ranks: bool = False, neighbours: bool = False, **sizes: Any
) -> SavedModel:
    model = ModelConfig(d_node=6, d_edge=8, d_mlp=7, d_time=5, **sizes)
    sampling = SamplingConfig(max_events=5, fanout=100, batch_size=4)
    features = FeaturesConfig(
        ("given", "statistics"), pair_statistics=pairs, rank_inputs=ranks, neighbour_labels=neighbours
    )
    config = RunConfig(model=model, sampling=sampling, features=features)
    labels = neighbour_labels_of(store, np.arange(8), np.arange(8) % 3, ["a", "b", "c"])
    preprocessing = preprocessing_for(store, CUT, config, labels=labels)
    spec = input_spec(preprocessing)
    network = GTEALinkNetwork(model, spec, 1) if task == "links" else GTEANodeClassifier(model, spec, 3, 1)
    described = {
        "run": config.to_json(), "task": task, "classes": ["a", "b", "c"], "positive": None, "input": vars(spec),
    }  # fmt: skip
    return SavedModel(network.state_dict(), described, preprocessing.to_json(), {}, {})


@both_directions
@pytest.mark.parametrize("ranks", [False, True], ids=["", "ranks"])
@pytest.mark.parametrize("neighbours", [False, True], ids=["", "neighbour_labels"])
def test_probabilities_and_embeddings(
    make_store: Callable[..., Store], directed: bool, ranks: bool, neighbours: bool
) -> None:
    store = make_store(directed=directed)
    model = NodeModel(saved_model(store, "nodes", ranks=ranks, neighbours=neighbours), CPU)
    nodes = np.array([4, 0, 9, 4, store.node("nobody"), store.node("late-a")])
    rows = model.probabilities(store, CUT, nodes)
    assert rows.dtype == np.float64
    np.testing.assert_allclose(rows.sum(1), 1, atol=1e-12)
    np.testing.assert_array_equal(rows[0], rows[3])
    np.testing.assert_allclose(rows, model.probabilities(store, CUT, nodes, SAMPLED), atol=1e-5)
    z = model.embeddings(store, CUT, nodes)
    assert z.shape == (6, 6)
    np.testing.assert_allclose(z, model.embeddings(store, CUT, nodes, SAMPLED), atol=1e-5)
    assert model.probabilities(store, CUT, nodes[:0]).shape == (0, 3)


@both_directions
@pytest.mark.parametrize("pairs", [False, True], ids=["", "statistics"])
@pytest.mark.parametrize("head", ["dot", "pair", "ordered_pair"])
def test_links(make_store: Callable[..., Store], directed: bool, head: str, pairs: bool) -> None:
    store = make_store(directed=directed)
    model = LinkModel(saved_model(store, "links", pairs=pairs, link_head=head), CPU)
    src, dst = np.array([1, 5, 5, 3, 9]), np.array([5, 1, 9, store.node("nobody"), 9])
    exact = model.probabilities(store, CUT, src, dst)
    np.testing.assert_allclose(exact, model.probabilities(store, CUT, src, dst, SAMPLED), atol=1e-5)


def test_a_damaged_model_is_not_believed(make_store: Callable[..., Store]) -> None:
    store = make_store()
    saved = saved_model(store, "nodes")
    broken = {name: weight * (torch.nan if "mlp_3" in name else 1) for name, weight in saved.weights.items()}
    model = NodeModel(dataclasses.replace(saved, weights=broken), CPU)
    with pytest.raises(ModelError, match="scores: must be finite"):
        model.probabilities(store, CUT, np.arange(3))


def test_progress_is_told(make_store: Callable[..., Store]) -> None:
    store = make_store()
    heard: list[tuple[str, float | None]] = []
    options = dataclasses.replace(EXACT, progress=lambda stage, done: heard.append((stage, done)))
    NodeModel(saved_model(store, "nodes"), CPU).probabilities(store, CUT, np.arange(5), options)
    stages = ["encoding edges", "describing accounts", "aggregating"]
    assert list(dict.fromkeys(stage for stage, _ in heard)) == stages
    assert ("encoding edges", 1.0) in heard
