"""Exact scores as of a cut have the same bytes whatever comes later, however much it is.

Stores are grown until every switch in the code that could depend on their size would flip: far more later edges than
earlier ones, far more later accounts, longer histories, and another order of the accounts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.properties.graphs import grow_trees

from gtea.config import FeaturesConfig, ModelConfig, RunConfig, SamplingConfig
from gtea.features.neighbour_labels import neighbour_labels_of
from gtea.features.preprocessing import input_spec, preprocessing_for
from gtea.models.hybrid import Hybrid
from gtea.models.model_folder import SavedModel
from gtea.models.registry import build_classifier, entry_of
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.memory import store_in_memory
from gtea.store.store import Store

CPU = torch.device("cpu")
CUT = 1_000
PAST = [f"p{i:03}" for i in range(200)]
LATER = [f"{letter}{i:03}" for letter in "aqz" for i in range(200)]
Rows = tuple[list[str], list[str], list[int], list[float]]


def events(names: Sequence[str], others: Sequence[str], start: int, stop: int, count: int, seed: int) -> Rows:
    generator = np.random.default_rng(seed)
    src = [names[i] for i in generator.integers(0, len(names), count)]
    dst = [others[int(len(others) * share**2)] for share in generator.random(count)]
    return src, dst, generator.integers(start, stop, count).tolist(), generator.lognormal(2, 1, count).tolist()


def store_of(*parts: Rows) -> Store:
    columns: list[list[Any]] = [[value for part in parts for value in part[k]] for k in range(4)]
    src, dst, time, amount = columns
    return store_in_memory(src, dst, time, features={"amount": amount})


PASTS = events(PAST, PAST, 0, CUT, 1_500, seed=1)
FUTURES: dict[str, tuple[Rows, ...]] = {
    "later events of the same accounts": (events(PAST, PAST, CUT, 2 * CUT, 2_000, seed=2),),
    "far more later edges": (events(PAST, PAST, CUT, 2 * CUT, 12_000, seed=3),),
    "later accounts": (events(LATER[:300], PAST, CUT, 2 * CUT, 400, seed=4),),
    "far more later accounts": (
        events(LATER, LATER, CUT, 2 * CUT, 6_000, seed=5),
        events(PAST, LATER, CUT, CUT + 1, 3_000, seed=6),
    ),
}
MODELS = {
    "lstm": ModelConfig(encoder="lstm"),
    "transformer": ModelConfig(encoder="transformer", attention="softmax"),
    "statistics": ModelConfig(encoder="statistics", time_encoding=False, attention="entmax15"),
    "one layer": ModelConfig(num_layers=1),
    "hybrid": ModelConfig(family="hybrid"),
}


def scores(store: Store, chosen: ModelConfig, what: str) -> bytes:
    """The scores of everybody in the store, or of pairs, by a network with random weights; those of the past."""
    trees = entry_of(chosen).has_trees
    features = FeaturesConfig(pair_statistics=trees and what == "links", neighbour_labels=trees and what == "nodes")
    config = RunConfig(chosen, features, SamplingConfig(max_events=8))
    saved = saved_model(store, config, what)
    nodes = np.array([store.node(account) for account in PAST])
    if what == "links":
        model = LinkModel(saved, CPU)
        return model.probabilities(store, CUT, nodes, np.roll(nodes, 7)).tobytes()
    return bytes(NodeModel(saved, CPU).probabilities(store, CUT, np.arange(store.num_nodes))[nodes].tobytes())


def saved_model(store: Store, config: RunConfig, what: str) -> SavedModel:
    entry = entry_of(config.model)
    labelled = np.array([store.node(account) for account in PAST[::3]])
    labels = neighbour_labels_of(store, labelled, np.arange(len(labelled)) % 2, ["bad", "ok"])
    for_trees = entry.has_trees and what == "nodes"
    preprocessing = preprocessing_for(store, CUT, config, for_trees=for_trees, labels=labels)
    spec = input_spec(preprocessing)
    head: dict[str, Any]
    if what == "links":
        network, head = entry.predictor(config.model, spec, 1), {"task": "links"}
    else:
        network = build_classifier(config.model, spec, 2, 1)
        head = {"task": "nodes", "classes": ["bad", "ok"], "positive": "bad"}
    if isinstance(network, Hybrid):
        grow_trees(network, 2)
    described = {**head, "input": vars(spec), "run": config.to_json()}
    return SavedModel(network.state_dict(), described, preprocessing.to_json(), {}, {})


@pytest.mark.parametrize("what", ["nodes", "links"])
@pytest.mark.parametrize("model", list(MODELS))
def test_no_byte_of_a_score_changes_with_the_future(model: str, what: str) -> None:
    expected = scores(store_of(PASTS), MODELS[model], what)
    for name, future in FUTURES.items():
        assert scores(store_of(*future, PASTS), MODELS[model], what) == expected, name


def test_the_comparison_can_fail() -> None:
    more = events(PAST, PAST, CUT - 1, CUT, 1, seed=9)
    for chosen in (MODELS["lstm"], MODELS["hybrid"]):
        for what in ("nodes", "links"):
            assert scores(store_of(PASTS, more), chosen, what) != scores(store_of(PASTS), chosen, what)


def test_accounts_that_have_not_begun_yet_all_get_the_same_score() -> None:
    """They have no history and, without a node table, no features: nothing tells them apart."""
    store = store_of(*FUTURES["later accounts"], PASTS)
    config = RunConfig(MODELS["lstm"])
    model = NodeModel(saved_model(store, config, "nodes"), CPU)
    later: NDArray[np.int64] = np.array([store.node(account) for account in LATER[:300] if account in set_of(store)])
    found = model.probabilities(store, CUT, later)
    assert len(np.unique(found, axis=0)) == 1


def set_of(store: Store) -> set[str]:
    return set(store.accounts.to_arrow().to_pylist())
