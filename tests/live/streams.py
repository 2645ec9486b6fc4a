"""Random streams, random models, and scores by appending everything and scoring anew."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import numpy as np
import pyarrow as pa
import torch
from tests.properties.graphs import grow_trees

from gtea.config import FeaturesConfig, ModelConfig, RunConfig, SamplingConfig
from gtea.features.neighbour_labels import neighbour_labels_of
from gtea.features.preprocessing import input_spec, preprocessing_for
from gtea.ingestion.ingest import ingest
from gtea.models.gtea import GTEANodeClassifier
from gtea.models.hybrid import Hybrid
from gtea.models.model_folder import SavedModel
from gtea.models.registry import GTEA_MODELS, build_classifier, entry_of, model_config
from gtea.scoring.scorer import NodeModel
from gtea.store.memory import store_in_memory
from gtea.store.store import Store

CPU = torch.device("cpu")
SMALL: dict[str, Any] = {"d_node": 6, "d_edge": 8, "d_time": 4, "d_mlp": 7, "num_heads": 2}
NAMES = ["b", "d", "bb", "dd", "f", "h", "ff", "m", "mm", "q"]
NEW = ["a", "c", "cc", "e", "g", "zz", "bbb"]
WORDS = ["card", "cash", "wire", "atm"]
Row = tuple[str, str, int, float, str]


def rows_at(
    generator: np.random.Generator, count: int, names: list[str], first: int, last: int, words: int
) -> list[Row]:
    """Rows with a hub, ties in time, self-loops."""
    picks = (len(names) * generator.random((count, 2)) ** 2).astype(int)
    times = generator.integers(first, last, count)
    amounts = np.round(generator.lognormal(3, 2, count), 2)
    kinds = generator.integers(0, words, count)
    return [
        (names[a], names[b], int(t), float(amount), WORDS[k])
        for (a, b), t, amount, k in zip(picks, times, amounts, kinds, strict=True)
    ]


def store_of_rows(rows: list[Row], *, directed: bool, loops: bool = True) -> Store:
    """The store that ingest and append would make of rows."""
    kept = [row for row in rows if loops or row[0] != row[1]]
    columns: list[list[Any]] = [[row[k] for row in kept] for k in range(5)]
    src, dst, time, amount, kind = columns
    dropped = {name: [0.0, 0.0] for row in rows for name in row[:2]} if not loops else {}
    made = store_in_memory(
        src,
        dst,
        time,
        features={"amount": amount},
        categorical={"kind": kind},
        nodes=dropped | {"m": [1.0, 2.0], "nobody": [3.0, 4.0]},
        node_features=["age", "tier"],
        directed=directed,
    )
    assert made.node_in_table is not None
    present = made.node_in_table.copy()
    present[[made.node(name) for name in dropped if name not in ("m", "nobody")]] = 0
    present.flags.writeable = False
    made = made.with_arrays({"node_in_table": present}, made.manifest.counts)
    loops_kept = {**made.manifest.schema, "self_loops": "keep" if loops else "drop"}
    made.manifest = dataclasses.replace(made.manifest, schema=loops_kept)
    return made


def frame_of(rows: list[Row]) -> pa.Table:
    columns: list[Any] = [[row[k] for row in rows] for k in range(5)]
    return pa.table(dict(zip(["src", "dst", "time", "amount", "kind"], columns, strict=True)))


def random_model(store: Store, generator: np.random.Generator, name: str, **chosen: Any) -> NodeModel:
    """An untrained model with every setting drawn, whose attention has something to discard."""

    def pick(*values: Any) -> Any:
        return values[int(generator.integers(len(values)))]

    settings = {
        "num_layers": pick(1, 2, 3),
        "attention": pick("sparsemax", "sparsemax", "softmax", "entmax15"),
        **chosen,
    }
    max_events, node_limit = settings.pop("max_events", pick(0, 2, 4, 64)), pick(0.0, 2.0)
    kinds = settings.pop(
        "nodes", pick(None, ("statistics",), ("given", "statistics", "random"), ("statistics", "partners", "rhythm"))
    )
    recency = settings.pop("recency", pick(False, False, False, True))
    sizes = SMALL | {"num_encoder_layers": pick(1, 1, 2), "node_limit": node_limit}
    model: ModelConfig = dataclasses.replace(model_config(name), **sizes, **settings)
    hybrid = entry_of(model).has_trees
    features = FeaturesConfig(
        nodes=kinds, d_random=3, recency=recency, rank_inputs=pick(False, True), neighbour_labels=pick(hybrid, True)
    )
    config = RunConfig(model, features, SamplingConfig(max_events=max_events))
    cut = store.end - int(generator.integers(0, 4)) if store.num_events > 4 else store.end
    labelled = np.arange(store.num_nodes)[::3]
    labels = neighbour_labels_of(store, labelled, np.arange(len(labelled)) % 2, ["bad", "ok"])
    preprocessing = preprocessing_for(store, cut, config, for_trees=hybrid, labels=labels)
    spec = input_spec(preprocessing)
    network = build_classifier(config.model, spec, 2, int(generator.integers(1 << 30)))
    if isinstance(network, Hybrid):
        grow_trees(network, 2)
    with torch.no_grad():
        cast(GTEANodeClassifier, network).gtea.edge_encoder.a.mul_(10)
    described: dict[str, Any] = {
        "task": "nodes",
        "classes": ["bad", "ok"],
        "positive": "bad",
        "input": vars(spec),
        "run": config.to_json(),
    }
    return NodeModel(SavedModel(network.state_dict(), described, preprocessing.to_json(), {}, {}), CPU)


def scored_anew(model: NodeModel, rows: list[Row], *, directed: bool, loops: bool) -> dict[str, float]:
    """Every account's score from a store of all rows."""
    store = store_of_rows(rows, directed=directed, loops=loops)
    scores = model.scores(model.probabilities(store, store.end, np.arange(store.num_nodes)))
    return dict(zip(store.accounts.to_arrow().to_pylist(), scores.tolist(), strict=True))


ALL_MODELS = GTEA_MODELS


def store_on_disk(rows: list[Row], out: Any) -> Store:
    """The store of the command line."""
    columns: dict[str, Any] = {"src": "src", "dst": "dst", "time": "time"}
    columns |= {"features": ["amount"], "categorical": ["kind"], "self_loops": "keep"}
    return ingest(frame_of(rows), out=out, time_unit="s", allow_any_date=True, **columns)
