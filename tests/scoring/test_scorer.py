"""Models made ready: exact answers are the sampled ones of a sampler that needn't choose."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
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
from gtea.tasks.thresholds import half_threshold

CPU = torch.device("cpu")
CUT = 150
SAMPLED = ScoringOptions(sampled=True)
both_directions = pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])


def saved_model(
    store: Store,
    task: str,
    *,
    pairs: bool = False,
    ranks: bool = False,
    neighbours: bool = False,
    classes: Sequence[str] = ("a", "b", "c"),
    positive: str | None = None,
    **sizes: Any,
) -> SavedModel:
    model = ModelConfig(d_node=6, d_edge=8, d_mlp=7, d_time=5, **sizes)
    sampling = SamplingConfig(max_events=5, fanout=100, batch_size=4)
    features = FeaturesConfig(
        ("given", "statistics"), pair_statistics=pairs, rank_inputs=ranks, neighbour_labels=neighbours
    )
    config = RunConfig(model=model, sampling=sampling, features=features)
    labels = neighbour_labels_of(store, np.arange(8), np.arange(8) % len(classes), list(classes))
    preprocessing = preprocessing_for(store, CUT, config, labels=labels)
    spec = input_spec(preprocessing)
    network = GTEALinkNetwork(model, spec, 1) if task == "links" else GTEANodeClassifier(model, spec, len(classes), 1)
    described = {
        "run": config.to_json(), "task": task, "classes": list(classes), "positive": positive, "input": vars(spec),
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


SHARES3, SHARES2 = [0.5, 0.3, 0.2], [0.8, 0.2]
CALIBRATION3 = {
    "shares": SHARES3,
    "class_weights": [1.0, 2.0, 3.0],
    "calibration": {"kind": "temperature", "prior": SHARES3, "temperature": 2.0},
    "population": None,
}
CALIBRATION2 = {
    "shares": SHARES2,
    "class_weights": None,
    "calibration": {"kind": "sigmoid", "slope": 0.5, "intercept": 1.0},
    "population": [0.99, 0.01],
}


@pytest.mark.parametrize("options", [EXACT, SAMPLED], ids=["exact", "sampled"])
def test_probabilities_are_corrected(make_store: Callable[..., Store], options: ScoringOptions) -> None:
    """Those of active and of other accounts, and of pairs."""
    store = make_store()
    raw = saved_model(store, "nodes")
    nodes = np.array([4, 0, 9, 4, store.node("nobody"), store.node("late-a")])
    before = NodeModel(raw, CPU).probabilities(store, CUT, nodes, options)
    after = NodeModel(dataclasses.replace(raw, calibration=CALIBRATION3), CPU).probabilities(store, CUT, nodes, options)
    unweighted = before / np.array([1.0, 2.0, 3.0])
    expected = np.sqrt(np.array(SHARES3) * unweighted / unweighted.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(after, expected / expected.sum(axis=1, keepdims=True), rtol=1e-6)
    links = saved_model(store, "links", pairs=True, link_head="pair")
    ends = np.array([1, 5, 5]), np.array([5, 1, 9])
    chances = LinkModel(links, CPU).probabilities(store, CUT, *ends, options)
    found = LinkModel(dataclasses.replace(links, calibration=CALIBRATION2), CPU)
    odds = np.exp(0.5 * np.log(chances / (1 - chances)) + 1) * (0.01 / 0.99) / (0.2 / 0.8)
    np.testing.assert_allclose(found.probabilities(store, CUT, *ends, options), odds / (1 + odds), rtol=1e-6)


@pytest.mark.parametrize("positive", ["a", "b"])
def test_of_two_classes_the_threshold_decides(make_store: Callable[..., Store], positive: str) -> None:
    saved = saved_model(make_store(), "nodes", classes=("a", "b"), positive=positive)
    column = "ab".index(positive)
    chances = np.column_stack([[0.9, 0.31, 0.3, 0.29, 0.1], [0.1, 0.69, 0.7, 0.71, 0.9]])
    chances = chances if positive == "a" else chances[:, ::-1]
    threshold = {**half_threshold([True, False], [0.7, 0.2]).to_json(), "value": 0.3}
    model = NodeModel(dataclasses.replace(saved, thresholds={"threshold": threshold}), CPU)
    assert (model.decide(chances) == column).tolist() == [True, True, True, False, False]
    assert (NodeModel(saved, CPU).decide(chances) == column).tolist() == [True, False, False, False, False]


def test_of_pairs_the_threshold_decides(make_store: Callable[..., Store]) -> None:
    saved = saved_model(make_store(), "links")
    threshold = {**half_threshold([True, False], [0.7, 0.2]).to_json(), "value": 0.3}
    model = LinkModel(dataclasses.replace(saved, thresholds={"threshold": threshold}), CPU)
    assert model.decide(np.column_stack([[0.6, 0.7, 0.71], [0.4, 0.3, 0.29]])).tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("part", "content", "message"),
    [
        ("calibration", {**CALIBRATION3, "class_weights": [1.0]}, r"calibration\.class_weights must have 3 numbers"),
        ("calibration", {}, "calibration must be an object of shares, class_weights, calibration, doubt, population"),
        ("thresholds", {"threshold": {"value": 2.0}}, "threshold must be null for more than two classes"),
    ],
)
def test_what_damaged_files_say_is_not_believed(
    make_store: Callable[..., Store], part: str, content: dict[str, Any], message: str
) -> None:
    changed: dict[str, Any] = {part: content}
    saved = dataclasses.replace(saved_model(make_store(), "nodes"), **changed)
    with pytest.raises(ModelError, match=message):
        NodeModel(saved, CPU)


def test_a_calibration_of_other_classes_is_refused(make_store: Callable[..., Store]) -> None:
    store = make_store()
    saved = dataclasses.replace(saved_model(store, "nodes"), calibration={**CALIBRATION2, "population": None})
    with pytest.raises(ModelError, match=r"calibration must be for 3 classes \(got 2\)"):
        NodeModel(saved, CPU)


def test_a_damaged_model_is_not_believed(make_store: Callable[..., Store]) -> None:
    store = make_store()
    saved = saved_model(store, "nodes")
    broken = {
        name: torch.full_like(weight, 1e38) if "mlp_3" in name else weight for name, weight in saved.weights.items()
    }
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
