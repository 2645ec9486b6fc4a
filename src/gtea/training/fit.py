"""From a task to a saved model: the same story for accounts and links."""

from __future__ import annotations

import dataclasses
import datetime as dt
import time
from pathlib import Path
from typing import Any, Protocol, TypeVar

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
from gtea.runtime.device import flush_denormals
from gtea.sampling.loader import Loader
from gtea.store.store import Store
from gtea.tasks.link_split import LinkSplit
from gtea.tasks.pair_split import PairSplit
from gtea.tasks.splits import Split
from gtea.training import run_record
from gtea.training.checkpoint import TrainingProgress, TrainingState
from gtea.training.loop import TrainingListener, train
from gtea.training.model_card import model_card
from gtea.training.objective import Objective

Made = TypeVar("Made")

Network = TypeVar("Network", bound=nn.Module)


class Task(Protocol[Network]):
    """What is to be trained, on what, and where it goes."""

    @property
    def store(self) -> Store:
        """The events."""

    @property
    def split(self) -> Split | LinkSplit | PairSplit:
        """Which examples train, choose and judge, and what each part may see."""

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
        """The task and what its answers mean, as they stand in the model's configuration."""

    def known(self) -> NeighbourLabels | None:
        """Labels of accounts that a network may be told, those of the training part; None where there are none."""

    def network(self, spec: InputSpec) -> Network:
        """The network before training."""

    def objective(self, network: Network, preprocessing: Preprocessing) -> Objective[Any]:
        """How to train and judge the network."""

    def metrics_of(self, network: Network, preprocessing: Preprocessing) -> dict[str, Any]:
        """The figures of validation and test part, each on the graph that it may see."""


def train_task(task: Task[Network], listener: TrainingListener, *, resume: bool = False) -> SavedModel:
    """Train, keep the best weights by the validation part, judge them once on the test part, and save.

    A finished run that is resumed gives the model that is there: writing its files again, one after the other, would
    put a whole model at risk.
    """
    began = time.monotonic()
    _enter(task, resume=resume)
    if resume and run_record.finished(task.folder):
        run_record.discard_checkpoint(task.folder)
        return load_model(task.folder)
    preprocessing, network, progress = _trained(task, listener, resume=resume)
    metrics_of = task.metrics_of(network, preprocessing)
    model = _saved(task, network, progress, preprocessing, metrics_of, time.monotonic() - began)
    save_model(task.folder, model, model_card(model))
    run_record.discard_checkpoint(task.folder)
    return model


def train_for_validation(task: Task[Network], listener: TrainingListener, *, resume: bool = False) -> TrainingProgress:
    """Train and look at the validation part alone: nothing of the test part is scored, and no model is saved."""
    _enter(task, resume=resume)
    _, _, progress = _trained(task, listener, resume=resume)
    return progress


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


@flush_denormals()
def _trained(
    task: Task[Network], listener: TrainingListener, *, resume: bool
) -> tuple[Preprocessing, Network, TrainingProgress]:
    """The network with its best weights."""
    torch.use_deterministic_algorithms(True)
    alone = not entry_of(task.config.model).reads_events
    cut, known = task.split.train.as_of, task.known()
    preprocessing = preprocessing_for(task.store, cut, task.config, accounts_alone=alone, known=known)
    network = task.network(input_spec(preprocessing)).to(task.device)
    if not resume:
        # Not earlier: what the store can't give, or the settings can't have, leaves no run behind.
        run_record.begin(task.folder, run_identity(task))
    objective = task.objective(network, preprocessing)
    if isinstance(network, TabularModel):
        progress = _fit_at_once(network, objective, task.config.train.metric)
    else:
        progress = _fit(task, network, objective, listener, resume=resume)
    return preprocessing, network, progress


def _fit_at_once(network: TabularModel, objective: Objective[Any], metric: str) -> TrainingProgress:
    """There are no epochs, and nothing to take up again: a run that was killed begins anew."""
    kinds = np.split(np.arange(sum(objective.sizes)), np.cumsum(objective.sizes)[:-1])
    examples = [(objective.make(items, 0), *objective.answers_of(items)) for items in kinds]
    network.fit(*(torch.cat(parts) for parts in zip(*examples, strict=True)))
    return TrainingProgress(finished=True, best_metric=objective.judge()[metric])


def _fit(
    task: Task[Network], network: Network, objective: Objective[Any], listener: TrainingListener, *, resume: bool
) -> TrainingProgress:
    """Step by step; leaves the network with its best weights."""
    config, settings = task.config, task.config.train
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
    state = TrainingState(network, optimiser, {})
    if resume:
        state.load(task.folder)
    loader = Loader(
        objective.make,
        objective.sizes,
        batch_size=config.sampling.batch_size,
        seed=config.train.seed,
        workers=config.train.workers,
    )
    train(state, loader, objective.loss_of, objective.judge, config.train, task.folder, listener)
    network.load_state_dict(state.best)
    return state.progress


def _saved(
    task: Task[Network],
    network: Network,
    progress: TrainingProgress,
    preprocessing: Preprocessing,
    metrics: dict[str, Any],
    seconds: float,
) -> SavedModel:
    return SavedModel(
        {name: tensor.detach().cpu() for name, tensor in network.state_dict().items()},
        {
            **task.answers(),
            "input": dataclasses.asdict(input_spec(preprocessing)),
            "run": task.config.to_json(),
        },
        preprocessing.to_json(),
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
        },
    )
