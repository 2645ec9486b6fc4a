"""From a task to a saved model, for accounts and for links: fit the trees, train the network, evaluate, save.

A killed run resumes to the same bytes: batches and dropout are pure functions of the place in the run, the trees are
kept in a file of their own, and the network in a checkpoint.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

import numpy as np
import torch
from torch import nn

from gtea.config import InputSpec, RunConfig
from gtea.features.neighbour_labels import NeighbourLabels
from gtea.features.preprocessing import Preprocessing, input_spec, preprocessing_for
from gtea.models.boosted_trees import TabularModel
from gtea.models.model_folder import SavedModel, load_model, save_model
from gtea.models.registry import entry_of
from gtea.nn.kernels import arithmetic
from gtea.runtime.device import flush_denormals, loader_workers
from gtea.sampling.loader import Loader
from gtea.store.store import Store
from gtea.tasks.link_split import LinkSplit
from gtea.tasks.pair_split import PairSplit
from gtea.tasks.splits import Split
from gtea.training import run_record
from gtea.training.checkpoint import TREES, TrainingProgress, TrainingState, load_module, save_module
from gtea.training.loop import TrainingListener, train
from gtea.training.model_card import model_card
from gtea.training.objective import Objective

Network = TypeVar("Network", bound=nn.Module)


class Task(Protocol[Network]):
    """What is to be trained, on what, and where it goes."""

    @property
    def store(self) -> Store:
        """The events."""

    @property
    def split(self) -> Split | LinkSplit | PairSplit:
        """Which examples train, validate and test, and what each part may see."""

    @property
    def config(self) -> RunConfig:
        """The settings."""

    @property
    def folder(self) -> Path:
        """Where the run and its model are kept."""

    @property
    def device(self) -> torch.device:
        """What computes."""

    def choices(self) -> dict[str, Any]:
        """What decides the weights besides settings, split and store."""

    def answers(self) -> dict[str, Any]:
        """The task and what its answers mean, for the model's config.json."""

    def neighbour_labels(self) -> NeighbourLabels | None:
        """The labels of the training part; None if accounts have no labels."""

    def network(self, spec: InputSpec) -> Network:
        """The network before training."""

    def objective(self, network: Network, preprocessing: Preprocessing) -> Objective[Any]:
        """How to train and validate the network."""

    def evaluate(self, network: Network, preprocessing: Preprocessing) -> dict[str, Any]:
        """The metrics of the validation and test part, each on the graph that it may see."""


def train_task(task: Task[Network], listener: TrainingListener, *, resume: bool = False) -> SavedModel:
    """Train, keep the best weights by the validation part, evaluate them once on the test part, and save.

    Resuming a finished run returns its model: writing the files again would put a whole model at risk.
    """
    began = time.monotonic()
    _enter(task, resume=resume)
    if resume and run_record.finished(task.folder):
        run_record.discard_checkpoint(task.folder)
        return load_model(task.folder)
    fitted = _fit(task, listener, resume=resume)
    metrics = task.evaluate(fitted.network, fitted.preprocessing)
    model = _saved(task, fitted, metrics, time.monotonic() - began)
    save_model(task.folder, model, model_card(model))
    run_record.discard_checkpoint(task.folder)
    return model


def train_for_validation(task: Task[Network], listener: TrainingListener, *, resume: bool = False) -> TrainingProgress:
    """Train and validate only: the test part is not scored, and no model is saved."""
    _enter(task, resume=resume)
    return _fit(task, listener, resume=resume).progress


def run_identity(task: Task[Network]) -> run_record.RunIdentity:
    """Everything that decides the bytes of a task's weights."""
    kind = {"kind": task.answers()["task"], **task.choices(), "split": task.split.describe()}
    return run_record.RunIdentity(task.config.to_json(), kind, task.store.digest, run_record.threads(), arithmetic())


def _enter(task: Task[Network], *, resume: bool) -> None:
    """Refuse a folder that is not free, or holds another run than the one to go on with."""
    if resume:
        run_record.resume(task.folder, run_identity(task))
    else:
        run_record.require_free(task.folder)


@dataclass(frozen=True)
class _Fitted(Generic[Network]):
    """A network with its best weights, and how it got there."""

    preprocessing: Preprocessing
    network: Network
    progress: TrainingProgress
    seconds: dict[str, float]
    """How long each step took, since the run began or was resumed."""


@flush_denormals()
def _fit(task: Task[Network], listener: TrainingListener, *, resume: bool) -> _Fitted[Network]:
    """Learn the preprocessing, build the network, fit its trees if it has any, and train it."""
    torch.use_deterministic_algorithms(True)
    entry = entry_of(task.config.model)
    clock = _Clock()
    preprocessing = preprocessing_for(
        task.store,
        task.split.train.as_of,
        task.config,
        add_statistics=not entry.samples,
        labels=task.neighbour_labels() if task.config.features.neighbour_labels else None,
    )
    network = task.network(input_spec(preprocessing)).to(task.device)
    if not resume:
        # Not earlier: settings or data that turn out to be impossible leave no run behind.
        run_record.begin(task.folder, run_identity(task))
    objective = task.objective(network, preprocessing)
    clock.lap("preparation")
    if not entry.fitted_in_epochs:
        progress = _fit_at_once(network, objective, task.config.train.metric)
        clock.lap("training")
        return _Fitted(preprocessing, network, progress, clock.seconds)
    if entry.has_trees:
        fit_hybrid_trees(network, objective, task.folder, resume=resume)
        clock.lap("trees")
    progress = _train_network(task, network, objective, listener, resume=resume)
    clock.lap("training")
    return _Fitted(preprocessing, network, progress, clock.seconds)


class _Clock:
    """Times the steps of a run."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.monotonic()

    def lap(self, step: str) -> None:
        now = time.monotonic()
        self.seconds[step] = round(now - self._last, 2)
        self._last = now


def fit_hybrid_trees(network: nn.Module, objective: Objective[Any], folder: Path, *, resume: bool) -> None:
    """Fit the trees of a hybrid before its network is trained; a resumed run takes the ones it has."""
    trees = cast(TabularModel, network.get_submodule("tree"))
    if resume and load_module(trees, folder / TREES):
        return
    trees.fit(*objective.examples())
    save_module(trees, folder / TREES)


def _fit_at_once(network: nn.Module, objective: Objective[Any], metric: str) -> TrainingProgress:
    """Without epochs there is nothing to resume: a killed run begins again."""
    kinds = np.split(np.arange(sum(objective.sizes)), np.cumsum(objective.sizes)[:-1])
    examples = [(objective.make(items, 0), *objective.targets_of(items)) for items in kinds]
    cast(TabularModel, network).fit(*(torch.cat(parts) for parts in zip(*examples, strict=True)))
    return TrainingProgress(finished=True, best_metric=objective.validate()[metric])


def _train_network(
    task: Task[Network], network: Network, objective: Objective[Any], listener: TrainingListener, *, resume: bool
) -> TrainingProgress:
    """Train in epochs; leaves the network with its best weights."""
    config = task.config
    optimiser = torch.optim.Adam(network.parameters(), lr=config.train.lr, weight_decay=config.train.weight_decay)
    state = TrainingState(network, optimiser, {})
    if resume:
        state.load(task.folder)
    loader = Loader(
        objective.make,
        objective.sizes,
        batch_size=config.sampling.batch_size,
        seed=config.train.seed,
        workers=loader_workers(),
    )
    train(state, loader, objective.loss_of, objective.validate, config.train, task.folder, listener)
    network.load_state_dict(state.best)
    return state.progress


def _saved(task: Task[Network], fitted: _Fitted[Network], metrics: dict[str, Any], seconds: float) -> SavedModel:
    progress = fitted.progress
    return SavedModel(
        {name: tensor.detach().cpu() for name, tensor in fitted.network.state_dict().items()},
        {
            **task.answers(),
            "input": dataclasses.asdict(input_spec(fitted.preprocessing)),
            "run": task.config.to_json(),
        },
        fitted.preprocessing.to_json(),
        {
            **metrics,
            "best_epoch": progress.best_epoch,
            "epochs": progress.epoch,
            "split": task.split.describe(),
        },
        {
            "data_digest": task.store.digest,
            "seed": task.config.train.seed,
            "threads": run_record.threads(),
            "arithmetic": arithmetic(),
            "versions": run_record.versions(),
            "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "training_seconds": round(seconds, 1),
            "seconds": fitted.seconds,
        },
    )
