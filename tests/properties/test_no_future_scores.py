"""No score, embedding or trained weight made as of t changes by a byte when everything at or after t does."""

from __future__ import annotations

import csv
import dataclasses
import functools
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties.graphs import CUT, PAST, columns, futures, grow_trees, in_memory, pasts, random_events
from torch import nn

from gtea.config import FeaturesConfig, InputSpec, ModelConfig, RunConfig, SamplingConfig
from gtea.features.account_statistics import statistics
from gtea.features.neighbour_labels import neighbour_labels_of
from gtea.features.preprocessing import input_spec, preprocessing_for
from gtea.ingestion.ingest import ingest
from gtea.models.gtea import GTEANodeClassifier
from gtea.models.hybrid import Hybrid
from gtea.models.registry import build_classifier, entry_of
from gtea.scoring.sampled import LinkScorer, NodeScorer
from gtea.store.store import Store

CPU = torch.device("cpu")


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


models = st.builds(
    ModelConfig,
    family=st.sampled_from(["gtea", "hybrid"]),
    encoder=st.sampled_from(["lstm", "transformer", "statistics"]),
    time_encoding=st.booleans(),
    attention=st.sampled_from(["sparsemax", "softmax", "entmax15"]),
    num_layers=st.integers(1, 2),
    d_node=st.just(4),
    d_edge=st.just(4),
    num_heads=st.just(2),
    d_time=st.just(3),
    d_mlp=st.just(4),
    link_head=st.sampled_from(["dot", "pair", "ordered_pair"]),
)
configs = st.builds(
    RunConfig,
    model=models,
    features=st.builds(
        FeaturesConfig,
        nodes=st.sampled_from(
            [None, ("statistics",), ("random",), ("given", "statistics", "random"), ("rhythm", "partners")]
        ),
        d_random=st.just(3),
        recency=st.booleans(),
        net_flow=st.booleans(),
        pair_statistics=st.booleans(),
        rank_inputs=st.booleans(),
        neighbour_labels=st.booleans(),
        time_origin=st.sampled_from(["pair", "calendar"]),
    ),
    sampling=st.builds(
        SamplingConfig,
        batch_size=st.sampled_from([5, 100]),
        fanout=st.integers(1, 3),
        max_events=st.sampled_from([0, 1, 3]),
        strategy=st.sampled_from(["uniform", "recent"]),
    ),
)


@functools.cache
def networks(model: ModelConfig, spec: InputSpec, kind: str) -> nn.Module:
    network = build_classifier(model, spec, 3, 1) if kind == "nodes" else entry_of(model).predictor(model, spec, 2)
    if isinstance(network, Hybrid):
        grow_trees(network, 3 if kind == "nodes" else 2)
    return network


def scores(store: Store, config: RunConfig, kind: str) -> list[bytes]:
    """What networks say of the accounts of the past, or of pairs of them, as of the cut."""
    nodes = np.array([store.node(account) for account in PAST])
    labels = neighbour_labels_of(store, nodes[::2], np.arange(len(nodes[::2])) % 3, ["bad", "good", "odd"])
    entry = entry_of(config.model)
    if entry.has_trees and kind == "links":
        config = dataclasses.replace(config, features=dataclasses.replace(config.features, pair_statistics=True))
    for_trees = entry.has_trees and kind == "nodes"
    preprocessing = preprocessing_for(store, CUT, config, for_trees=for_trees, labels=labels)
    network, rest = networks(config.model, input_spec(preprocessing), kind), (config.sampling.batch_size, CPU)
    if kind == "links":
        src, dst = np.tile(nodes, 2), np.concatenate([np.roll(nodes, 1), nodes[::-1]])
        pairs = entry.pair_batches(store, CUT, preprocessing, config)
        return [LinkScorer(network, pairs, *rest).probabilities(src, dst).tobytes()]
    classifier, collator = cast(GTEANodeClassifier, network), entry.node_batches(store, CUT, preprocessing, config)
    probabilities = NodeScorer(classifier, collator, *rest)
    embeddings = NodeScorer(classifier.gtea, collator, *rest)
    made = (statistics(store.as_of(CUT), nodes), probabilities.probabilities(nodes), embeddings.outputs(nodes))
    return [values.tobytes() for values in made]


kinds = st.sampled_from(["nodes", "links"])


@pytest.mark.slow
@settings(max_examples=1_000)
@given(past=pasts, one=futures, other=futures, directed=st.booleans(), config=configs, kind=kinds)
def test_scores_know_nothing_of_the_future(
    past: Any, one: Any, other: Any, directed: bool, config: RunConfig, kind: str
) -> None:
    first = in_memory([*past, *one], directed=directed, extra_nodes=False)
    second = in_memory([*other, *past], directed=directed, extra_nodes=True)
    assert scores(first, config, kind) == scores(second, config, kind)


def test_scores_do_know_the_past() -> None:
    """The comparison above can fail: one more event before the cut, and something changes."""
    generator = np.random.default_rng(0)
    past = random_events(generator, PAST, ["card", "wire"], 0, CUT, 40)
    more = [*past, dataclasses.replace(past[0], time=CUT - 1)]
    first, second = (in_memory(rows, directed=False, extra_nodes=False) for rows in (past, more))
    for kind in ("nodes", "links"):
        for family in ("gtea", "hybrid"):
            config = RunConfig(ModelConfig(family=family))
            pairs = zip(scores(first, config, kind), scores(second, config, kind), strict=True)
            assert all(one != other for one, other in pairs)


QUICK = (
    "model.d_node=4", "model.d_edge=4", "model.d_mlp=4", "model.d_time=2", "sampling.fanout=3", "sampling.max_events=4",
    "sampling.batch_size=8", "train.epochs=2", "train.metric=average_precision",
)  # fmt: skip
MANY = [f"p{i:02}" for i in range(44)]
STRANGERS = ["a", "p05x", "z"]


def stored(rows: Any, out: Path) -> Path:
    table = pa.table(columns(rows))
    ingest(
        table, src="src", dst="dst", time="time", features=["amount"], categorical=["kind"], time_unit="step", out=out
    )
    return out


def labelled(path: Path, later: dict[str, str]) -> Path:
    """Labels that are known in time, the same for everybody, and labels that become known at the cut or later."""
    early = [(account, "bad" if i % 2 and i < 38 else "ok", 0) for i, account in enumerate(MANY[:40])]
    late = [(account, word, CUT + i) for i, (account, word) in enumerate(later.items())]
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([("account", "label", "known_at"), *early, *late])
    return path


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("kind", ["temporal", "folds"])
def test_training_knows_nothing_of_the_future(gtea: Callable[..., Any], tmp_path: Path, seed: int, kind: str) -> None:
    """Neither of later events nor of later labels, though those bring another class and make another one the rarer."""
    generator = np.random.default_rng(seed)
    past = random_events(generator, MANY, ["card", "wire"], 0, CUT, 300)
    future = random_events(generator, [*MANY, *STRANGERS], ["atm", "wire"], CUT, 2 * CUT, 80)
    other = random_events(generator, [*MANY, "z"], ["zap"], CUT, 2 * CUT, 30)
    cases = [
        (stored(past, tmp_path / "none"), labelled(tmp_path / "none.csv", {})),
        (stored(past + future, tmp_path / "some"), labelled(tmp_path / "some.csv", dict.fromkeys(MANY[40:], "bad"))),
        (
            stored(other + past, tmp_path / "other"),
            labelled(tmp_path / "other.csv", {**dict.fromkeys(STRANGERS, "bad"), MANY[41]: "mule"}),
        ),
    ]
    made = set()
    words = [word for setting in (*QUICK, f"train.seed={seed}") for word in ("--set", setting)]
    words += ["--folds", "3"] if kind == "folds" else []
    models = ("fold-1", "fold-2", "fold-3") if kind == "folds" else (".",)
    for store, labels in cases:
        out = tmp_path / f"{store.name}.model"
        run = gtea("train", store, "--labels", labels, "--as-of", CUT, "--unknown", "skip", *words, "--out", out)
        assert run.code == 0, run.err
        names = ["model.safetensors", "preprocessing.json", "config.json", "metrics.jsonl"]
        # What is chosen after training, and the probabilities of every example.
        names += ["calibration.json", "thresholds.json", "predictions.parquet"]
        files = [out / model / name for model in models for name in names]
        made.add(tuple(hashlib.sha256(file.read_bytes()).hexdigest() for file in files))
    assert len(made) == 1
