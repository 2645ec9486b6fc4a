"""Random graphs with everything that can go wrong, untrained models of them, and replay by the book."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import torch
from tests.properties.graphs import Event, grow_trees

from gtea.config import FeaturesConfig, ModelConfig, RunConfig, SamplingConfig
from gtea.features.neighbour_labels import neighbour_labels_of
from gtea.features.preprocessing import input_spec, preprocessing_for
from gtea.models.hybrid import Hybrid
from gtea.models.model_folder import SavedModel
from gtea.models.registry import build_classifier, entry_of, model_config
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.memory import store_in_memory
from gtea.store.store import Store
from gtea.tasks.thresholds import Threshold

CPU = torch.device("cpu")
CUT = 150
SMALL: dict[str, Any] = {"d_node": 6, "d_edge": 8, "d_time": 5, "d_mlp": 7}
CLASSES = ("bad", "good", "odd")


def random_rows(seed: int = 0, num_events: int = 90) -> list[Event]:
    """Hubs, self-loops, ties in time, pairs that pay both ways, a pair of two alone, events after the cut."""
    generator = np.random.default_rng(seed)
    names = [f"a{i:02}" for i in range(14)]
    src, dst = (14 * generator.random(num_events) ** 2).astype(int), generator.integers(0, 14, num_events)
    times = np.sort(generator.integers(0, 160, num_events)) // 5 * 5
    amounts = generator.lognormal(3, 2, num_events)
    kinds = generator.integers(0, 2, num_events)
    rows = [
        Event(names[s], names[d], int(t), float(a), ["card", "wire"][k])
        for s, d, t, a, k in zip(src, dst, times, amounts, kinds, strict=True)
    ]
    alone = [Event("x1", "x2", 20, 3.0, "card"), Event("x2", "x1", 20, 3.0, "wire"), Event("x1", "x2", 90, 1.0, "card")]
    return [*rows, *alone, Event("a03", "a03", 10, 5.0, "card"), Event("a03", "a03", 40, 7.0, "wire")]


def store_of(rows: Sequence[Event], *, directed: bool = False, features: bool = True, **options: Any) -> Store:
    return store_in_memory(
        [row.src for row in rows],
        [row.dst for row in rows],
        [row.time for row in rows],
        features={"amount": [row.amount for row in rows]} if features else None,
        categorical={"kind": [row.kind for row in rows]} if features else None,
        directed=directed,
        **options,
    )


def model_of(
    store: Store,
    model: ModelConfig,
    *,
    task: str = "nodes",
    num_classes: int = 2,
    features: FeaturesConfig | None = None,
    max_events: int = 4,
    cut: int = CUT,
) -> NodeModel | LinkModel:
    """An untrained model whose attention has something to discard, and whose trees look at many columns."""
    entry = entry_of(model)
    config = RunConfig(model, features or FeaturesConfig(), SamplingConfig(max_events=max_events))
    if task == "links":
        config = dataclasses.replace(config, features=dataclasses.replace(config.features, pair_statistics=True))
    classes = CLASSES[:num_classes]
    nodes = np.arange(0, store.num_nodes, 3)
    labels = neighbour_labels_of(store, nodes, np.arange(len(nodes)) % num_classes, classes)
    for_trees = entry.has_trees and task == "nodes"
    preprocessing = preprocessing_for(
        store, cut, config, for_trees=for_trees, labels=labels, add_statistics=True, add_context=entry.reads_context
    )
    spec = input_spec(preprocessing)
    network = entry.predictor(model, spec, 1) if task == "links" else build_classifier(model, spec, num_classes, 1)
    if isinstance(network, Hybrid):
        grow_trees(network, num_classes)
    if entry.exact:
        with torch.no_grad():
            network.gtea.edge_encoder.a.mul_(10)  # type: ignore[union-attr, operator]
    described = {
        "run": config.to_json(), "task": task, "classes": list(classes),
        "positive": "bad" if num_classes == 2 else None, "input": vars(spec),
    }  # fmt: skip
    saved = SavedModel(network.state_dict(), described, preprocessing.to_json(), {}, {})
    return LinkModel(saved, CPU) if task == "links" else NodeModel(saved, CPU)


def small(name: str, **changes: Any) -> ModelConfig:
    return dataclasses.replace(model_config(name), **SMALL, **changes)


def with_threshold(model: NodeModel | LinkModel, value: float) -> NodeModel:
    """A model of accounts whose alerts are the scores from a value on."""
    assert isinstance(model, NodeModel)
    model.threshold = Threshold(value, "half", 0.5, 1, None, None, None, None, 0)
    return model


def replayed(
    rows: Sequence[Event],
    gone: Callable[[Event], bool],
    model: NodeModel | LinkModel,
    subject: Sequence[str],
    **how: Any,
) -> np.ndarray[Any, Any]:
    """The probabilities of a subject in a store of the rows that are left. Accounts that vanish come back later."""
    left = [row for row in rows if not gone(row)]
    later = [Event(account, account, CUT + 5, 1.0, "card") for account in subject]
    store = store_of([*left, *later], **how)
    first, *others = (np.array([store.node(account)]) for account in subject)
    if isinstance(model, NodeModel):
        return np.asarray(model.probabilities(store, CUT, first)[0])
    linked = float(model.probabilities(store, CUT, first, others[0])[0])
    return np.array([1 - linked, linked])


def between(one: str, other: str) -> Callable[[Event], bool]:
    return lambda row: {row.src, row.dst} == {one, other}


def among(one: str, others: Collection[str]) -> Callable[[Event], bool]:
    return lambda row: any(between(one, other)(row) for other in others)
