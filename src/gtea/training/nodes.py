"""Training a node classifier from a store and labels, from split to saved model."""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from gtea.batch import Batch
from gtea.checkpoint import SavedModel, save_model
from gtea.config import InputSpec, RunConfig
from gtea.inference import NodeScorer
from gtea.nn.classifier import NodeClassifier
from gtea.sampling.collate import Collator
from gtea.sampling.fitting import fit_preprocessing
from gtea.sampling.loader import Loader
from gtea.sampling.node_features import NodeKind
from gtea.sampling.preprocessing import Preprocessing
from gtea.store.store import Store
from gtea.tasks.labels import Labels
from gtea.tasks.metrics import node_metrics
from gtea.tasks.splits import Part, Split
from gtea.training import record
from gtea.training.card import model_card
from gtea.training.loop import Listener, train
from gtea.training.state import State

_MINUTE_IN_DAYS = 1 / 1440


@dataclass(frozen=True)
class NodeRun:
    """What is to be trained, on what, and where it goes."""

    store: Store
    labels: Labels
    positive: str | None
    """The class whose probability is the score; None with more than two classes."""
    split: Split
    config: RunConfig
    folder: Path
    device: torch.device


def train_nodes(run: NodeRun, listener: Listener, *, resume: bool = False) -> SavedModel:
    """Train, keep the best weights by the validation part, judge them once on the test part, and save."""
    torch.use_deterministic_algorithms(True)
    began = time.monotonic()
    identity = _identity(run)
    if resume:
        record.resume(run.folder, identity)
    else:
        record.begin(run.folder, identity)
    preprocessing = _preprocessing(run)
    network = _network(run, preprocessing)
    optimiser = torch.optim.Adam(
        network.parameters(), lr=run.config.train.lr, weight_decay=run.config.train.weight_decay
    )
    state = State(network, optimiser, {})
    if resume:
        state.load(run.folder)
    _fit(run, state, preprocessing, listener)
    network.load_state_dict(state.best)
    model = _saved(run, state, preprocessing, _judge_all(run, network, preprocessing), time.monotonic() - began)
    save_model(run.folder, model, model_card(model))
    record.discard_checkpoint(run.folder)
    return model


def _fit(run: NodeRun, state: State, preprocessing: Preprocessing, listener: Listener) -> None:
    config, part = run.config, run.split.train.index
    collator = collator_for(run.store, run.split.train.as_of, preprocessing, config)
    nodes, targets = run.labels.nodes[part], torch.from_numpy(run.labels.targets[part])
    weights = _class_weights(run).to(run.device)

    def make(items: NDArray[np.int64], epoch: int) -> Batch:
        return collator.batch(nodes[items], epoch)

    def loss_of(items: NDArray[np.int64], batch: Batch) -> Tensor:
        logits = state.network(batch.to(run.device))
        return functional.cross_entropy(logits, targets[items].to(run.device), weights)

    loader = Loader(
        make,
        len(nodes),
        batch_size=config.sampling.batch_size,
        seed=config.train.seed,
        workers=config.train.workers,
    )
    scorer = _scorer(run, state.network, preprocessing, run.split.validation.as_of)

    def judge() -> Mapping[str, float]:
        return _metrics(run, scorer, run.split.validation)

    train(state, loader, loss_of, judge, config.train, run.folder, listener)


def _preprocessing(run: NodeRun) -> Preprocessing:
    """Learnt from what training may see, and nothing else."""
    features = run.config.features
    default: tuple[NodeKind, ...] = ("given",) if run.store.node_features is not None else ("statistics",)
    return fit_preprocessing(
        run.store.as_of(run.split.train.as_of),
        nodes=features.nodes or default,
        d_random=features.d_random,
        with_gap=features.gaps,
    )


def _network(run: NodeRun, preprocessing: Preprocessing) -> NodeClassifier:
    spec = input_spec(preprocessing)
    config = run.config
    return NodeClassifier(config.model, spec, len(run.labels.classes), config.train.seed).to(run.device)


def input_spec(preprocessing: Preprocessing) -> InputSpec:
    """Widths of the inputs, and the periods from which the time encoding's frequencies start."""
    times = preprocessing.times
    shortest = 1 / times.unit if times.steps else _MINUTE_IN_DAYS
    return InputSpec(preprocessing.d_node, preprocessing.d_event, shortest, max(times.span, 2 * shortest))


def collator_for(store: Store, cut: int, preprocessing: Preprocessing, config: RunConfig) -> Collator:
    """Batches of a store as of a cut, as the configuration wants them."""
    return Collator(
        store.as_of(cut),
        preprocessing,
        fanout=config.sampling.fanout,
        num_layers=config.model.num_layers,
        max_events=config.sampling.max_events,
        strategy=config.sampling.strategy,
        seed=config.train.seed,
    )


def _class_weights(run: NodeRun) -> Tensor:
    counts = np.bincount(run.labels.targets[run.split.train.index], minlength=len(run.labels.classes))
    if not run.config.train.class_weights:
        return torch.ones(len(counts))
    # A class that training never sees can't be weighed; it keeps weight 0 and is never the right answer.
    weights = np.divide(counts.sum(), len(counts) * counts, out=np.zeros(len(counts)), where=counts > 0)
    return torch.from_numpy(weights.astype(np.float32))


def _scorer(run: NodeRun, network: torch.nn.Module, preprocessing: Preprocessing, cut: int) -> NodeScorer:
    collator = collator_for(run.store, cut, preprocessing, run.config)
    return NodeScorer(network, collator, run.config.sampling.batch_size, run.device, run.config.train.workers)


def _metrics(run: NodeRun, scorer: NodeScorer, part: Part) -> dict[str, float]:
    probabilities = scorer.probabilities(run.labels.nodes[part.index])
    return node_metrics(run.labels.targets[part.index], probabilities, run.labels.classes, run.positive)


def _judge_all(run: NodeRun, network: torch.nn.Module, preprocessing: Preprocessing) -> dict[str, Any]:
    """Each part on the graph that it may see."""
    return {
        name: _metrics(run, _scorer(run, network, preprocessing, part.as_of), part)
        for name, part in run.split.parts.items()
        if name != "train"
    }


def _identity(run: NodeRun) -> record.Run:
    task = {
        "kind": "nodes",
        "labels": labels_digest(run.labels),
        "positive": run.positive,
        "split": run.split.describe(),
    }
    return record.Run(run.config.to_json(), task, run.store.digest, record.threads())


def labels_digest(labels: Labels) -> str:
    """One sha256 over who has which label and since when."""
    digest = hashlib.sha256(json.dumps(labels.classes).encode())
    for array in (labels.nodes, labels.targets, labels.known_at):
        digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _saved(
    run: NodeRun, state: State, preprocessing: Preprocessing, metrics: dict[str, Any], seconds: float
) -> SavedModel:
    spec = input_spec(preprocessing)
    labels = run.labels
    return SavedModel(
        state.best,
        {
            "task": "nodes",
            "classes": list(labels.classes),
            "positive": run.positive,
            "input": dataclasses.asdict(spec),
            "run": run.config.to_json(),
        },
        preprocessing.to_json(),
        {
            **metrics,
            "best_epoch": state.progress.best_epoch,
            "epochs": state.progress.epoch,
            "split": run.split.describe(),
            "labels": labels.report,
        },
        {
            "data_digest": run.store.digest,
            "seed": run.config.train.seed,
            "threads": record.threads(),
            "versions": record.versions(),
            "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "training_seconds": round(seconds, 1),
        },
    )
