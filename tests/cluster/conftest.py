"""A graph on disk with all that can go wrong in parts, and models of it: every variant, and the default hybrid."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.models.documents import FACTS, metrics_of
from threadpoolctl import threadpool_limits

from gtea.cluster.schedule import Then
from gtea.cluster.tasks import FileTask, outcome_of, raise_error
from gtea.config import FeaturesConfig, RunConfig, SamplingConfig
from gtea.features.neighbour_labels import neighbour_labels_of
from gtea.features.preprocessing import input_spec, preprocessing_for
from gtea.ingestion.ingest import ingest
from gtea.models.hybrid import HybridClassifier, HybridPredictor
from gtea.models.model_folder import SavedModel, save_model
from gtea.models.registry import build_classifier, default_config, entry_of, model_config
from gtea.runtime.progress import Progress
from gtea.sampling.pair_batches import ranked_statistics
from gtea.sampling.tabular import NodeRows
from gtea.scoring.options import Grain, ScoringOptions
from gtea.scoring.table import score_accounts, score_pairs
from gtea.store.store import Store

CPU = torch.device("cpu")
NUM_ACCOUNTS, CUT = 300, "800"
GRAIN = Grain(accounts=16, slots=110, pairs=32)
"""Small enough that the graph has many blocks, and hubs of many pieces."""
SMALL: dict[str, Any] = {"d_node": 6, "d_edge": 8, "d_time": 5, "d_mlp": 7}


@dataclass(frozen=True)
class Case:
    """A store, a folder for models of it, and a place for what is made."""

    store: Path
    models: Path
    out: Path

    def model(self, name: str, **changes: Any) -> Path:
        """A saved model of a variant, whose attention has something to discard."""
        folder = self.models / "-".join([name, *(f"{key}={value}" for key, value in sorted(changes.items()))])
        if not folder.exists():
            _save(Store.open(self.store), folder, name, changes)
        return folder

    def link_model(self, name: str, **changes: Any) -> Path:
        """The same that scores pairs."""
        words = (f"{key}={value}" for key, value in sorted(changes.items()))
        folder = self.models / "-".join(["links", name, *words])
        if not folder.exists():
            _save_links(Store.open(self.store), folder, name, changes)
        return folder

    def pairs(self, *, few: bool = False) -> Path:
        """A table of pairs: those of hubs and of accounts without an event before the cut among them, some twice."""
        path, rng = self.out / f"pairs-{few}.csv", np.random.default_rng(3)
        src, dst = rng.integers(0, 20 if few else NUM_ACCOUNTS, (2, 60 if few else 400))
        src[:12] = 7
        rows = [f"a{s:03d},a{d:03d}" for s, d in zip(src, dst, strict=True)]
        path.write_text("\n".join(["src,dst", *rows, rows[0], "a003,a032", "a020,a020"]) + "\n")
        return path

    def expected_pairs(self, model: Path, pairs: Path, **options: Any) -> bytes:
        """The table of pairs that one process writes."""
        grain = ScoringOptions(grain=GRAIN)
        out = self.out / "one-pairs.parquet"
        score_pairs(model, self.store, str(pairs), out, as_of=CUT, options=grain, device=CPU, **options)
        return out.read_bytes()

    def expected(self, model: Path, **options: Any) -> bytes:
        """The table that one process writes."""
        grain = ScoringOptions(grain=GRAIN)
        score_accounts(model, self.store, self.out / "one.parquet", as_of=CUT, options=grain, device=CPU, **options)
        return (self.out / "one.parquet").read_bytes()


class InThisProcess:
    """A carrier that runs one task after the other here, and the files of which some can be harmed in between."""

    num_workers = 1

    def __init__(self, after_each: Callable[[FileTask, Path], None] = lambda task, folder: None) -> None:
        self.ran: list[str] = []
        self._after_each = after_each

    def run(self, tasks: Sequence[FileTask], folder: Path, progress: Progress, then: Then | None = None) -> bool:
        for task in tasks:
            outcome = outcome_of(folder, task)
            if outcome:
                raise_error(task.name, {"error": "StoreError", **outcome})
            self.ran.append(task.name)
            self._after_each(task, folder)
        return then is None or self.run(then(), folder, progress)

    def on_each_node(self, task: FileTask, folder: Path) -> list[dict[str, Any]]:
        return [outcome_of(folder, task)]


@pytest.fixture(scope="session", params=[False, True], ids=["undirected", "directed"])
def graph(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Hubs, accounts that deal with themselves, ties, accounts of the future, pairs that pay both ways."""
    return made_case(tmp_path_factory.mktemp("cluster"), directed=request.param)


@pytest.fixture(scope="session")
def undirected(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return made_case(tmp_path_factory.mktemp("cluster"), directed=False)


@pytest.fixture
def case(graph: Case, tmp_path: Path) -> Case:
    return dataclasses.replace(graph, out=tmp_path)


@pytest.fixture
def plain_case(undirected: Case, tmp_path: Path) -> Case:
    return dataclasses.replace(undirected, out=tmp_path)


def made_case(folder: Path, *, directed: bool) -> Case:
    """Make the store. Account 7 deals with nearly everybody: its slots are more than those of a part."""
    rng = np.random.default_rng(0)
    src = (NUM_ACCOUNTS * rng.random(2500) ** 2).astype(int)
    dst = rng.integers(0, NUM_ACCOUNTS, 2500)
    hub = np.arange(0, NUM_ACCOUNTS, 1)
    src = np.concatenate([src, np.full(len(hub), 7), [20, 20, 33]])
    dst = np.concatenate([dst, hub, [20, 20, 33]])
    time = np.concatenate([rng.integers(0, 900, 2500), rng.integers(0, 700, len(hub)), [5, 6, 7]])
    late = ((src % 29 == 3) | (dst % 29 == 3)) & (time < 800)
    time[late] += 800  # accounts without an event before the cut, all over the store
    amount, kind = rng.lognormal(3, 2, len(src)), rng.choice(["card", "cash"], len(src))
    rows = zip(src, dst, time, amount, kind, strict=True)
    lines = [f"a{s:03d},a{d:03d},{t},{a:.4f},{k}" for s, d, t, a, k in rows]
    (folder / "events.csv").write_text("src,dst,time,amount,kind\n" + "\n".join(lines) + "\n")
    ingest(
        folder / "events.csv", src="src", dst="dst", time="time", features=["amount"], categorical=["kind"],
        time_unit="step", self_loops="keep", directed=directed, out=folder / "graph.store",
    )  # fmt: skip
    return Case(folder / "graph.store", folder / "models", folder)


def _save_links(store: Store, folder: Path, name: str, changes: dict[str, Any]) -> None:
    sizes = {key: value for key, value in changes.items() if key in SMALL}
    default = default_config(dataclasses.replace(model_config(name), **{**SMALL, **sizes}), "links")
    model = dataclasses.replace(default.model, **{"d_mlp": 7, **changes})
    features = default.features if model.link_head != "dot" else FeaturesConfig()
    config = RunConfig(model, features, SamplingConfig(max_events=5))
    cut, rng = store.as_of(CUT).cut, np.random.default_rng(1)
    fitted = preprocessing_for(store, cut, config)
    network: Any = entry_of(config.model).predictor(config.model, input_spec(fitted), 1)
    if isinstance(network, HybridPredictor):
        src, dst = rng.integers(0, store.num_nodes, (2, 200))
        ranks = ranked_statistics(store.as_of(cut), fitted)
        assert ranks is not None
        rows = ranks(src, dst)
        with threadpool_limits(1, "openmp"):
            network.fit_trees(rows, torch.from_numpy(rng.integers(0, 2, 200)), torch.ones(200))
    if entry_of(config.model).exact:
        with torch.no_grad():
            network.gtea.edge_encoder.a.mul_(10)
    described = {"run": config.to_json(), "task": "links", "input": vars(input_spec(fitted))}
    folder.parent.mkdir(exist_ok=True)
    saved = SavedModel(network.state_dict(), described, fitted.to_json(), metrics_of(None), FACTS)
    save_model(folder, saved, "Untrained.\n")


def _save(store: Store, folder: Path, name: str, changes: dict[str, Any]) -> None:
    features = {key: changes[key] for key in changes.keys() & FeaturesConfig.__dataclass_fields__.keys()}
    sizes = {key: value for key, value in changes.items() if key not in features}
    model = dataclasses.replace(model_config(name), **{**SMALL, **sizes})
    hybrid = name == "hybrid"
    config = RunConfig(model, FeaturesConfig(**{"neighbour_labels": hybrid, **features}), SamplingConfig(max_events=5))
    rng, cut = np.random.default_rng(1), store.as_of(CUT).cut
    nodes, targets = np.sort(rng.choice(store.num_nodes, 120, replace=False)), rng.integers(0, 2, 120)
    labels = neighbour_labels_of(store, nodes, targets, ["bad", "good"])
    fitted = preprocessing_for(store, cut, config, for_trees=entry_of(model).has_trees, labels=labels)
    network = build_classifier(model, input_spec(fitted), 2, 1)
    if isinstance(network, HybridClassifier):
        rows = NodeRows(store.as_of(cut), fitted).batch(nodes)
        with threadpool_limits(1, "openmp"):  # threads that wait for each other are slow beside other tests
            network.fit_trees(rows, torch.from_numpy(targets), torch.ones(len(nodes)))
    if entry_of(model).exact:
        with torch.no_grad():
            network.gtea.edge_encoder.a.mul_(10)  # type: ignore[union-attr, operator]
    described = {
        "run": config.to_json(), "task": "nodes", "classes": ["bad", "good"], "positive": "bad",
        "input": vars(input_spec(fitted)),
    }  # fmt: skip
    folder.parent.mkdir(exist_ok=True)
    save_model(
        folder,
        SavedModel(network.state_dict(), described, fitted.to_json(), metrics_of(["bad", "good"]), FACTS),
        "Untrained.\n",
    )
