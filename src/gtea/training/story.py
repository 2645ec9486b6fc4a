"""From a task to a saved model: the same story for accounts and links."""

from __future__ import annotations

import dataclasses
import datetime as dt
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gtea.baselines.fitted import FittedAtOnce
from gtea.checkpoint import SavedModel, load_model, save_model
from gtea.config import InputSpec, RunConfig
from gtea.families import family_of
from gtea.nn.compiled import arithmetic
from gtea.nn.denormals import flush_denormals
from gtea.sampling.inputs import input_spec, preprocessing_for
from gtea.sampling.known import KnownLabels
from gtea.sampling.loader import Loader
from gtea.sampling.preprocessing import Preprocessing
from gtea.store.store import Store
from gtea.tasks.links import LinkSplit
from gtea.tasks.pair_split import PairSplit
from gtea.tasks.splits import Split
from gtea.training import record
from gtea.training.card import model_card
from gtea.training.loop import Listener, train
from gtea.training.state import Progress, State

Made = TypeVar("Made")
Network = TypeVar("Network", bound=nn.Module)


@dataclass(frozen=True)
class Lessons(Generic[Made]):
    """What training needs of a task: batches by item numbers and epoch, answers, their mean loss, and a judgement."""

    make: Callable[[NDArray[np.int64], int], Made]
    sizes: tuple[int, ...]
    """How many items there are of each kind, numbered one kind after the other. A batch holds items of one kind."""
    answers_of: Callable[[NDArray[np.int64]], tuple[Tensor, Tensor]]
    """The right answer to each row of a batch of items, and how much it counts."""
    loss_of: Callable[[NDArray[np.int64], Made], Tensor]
    judge: Callable[[], Mapping[str, float]]


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

    def known(self) -> KnownLabels | None:
        """Labels of accounts that a network may be told, those of the training part; None where there are none."""

    def network(self, spec: InputSpec) -> Network:
        """The network before training."""

    def lessons(self, network: Network, preprocessing: Preprocessing) -> Lessons[Any]:
        """How to train and judge the network."""

    def judged(self, network: Network, preprocessing: Preprocessing) -> dict[str, Any]:
        """The figures of validation and test part, each on the graph that it may see."""


def train_task(task: Task[Network], listener: Listener, *, resume: bool = False) -> SavedModel:
    """Train, keep the best weights by the validation part, judge them once on the test part, and save.

    A finished run that is resumed gives the model that is there: writing its files again, one after the other, would
    put a whole model at risk.
    """
    began = time.monotonic()
    _enter(task, resume=resume)
    if resume and record.finished(task.folder):
        record.discard_checkpoint(task.folder)
        return load_model(task.folder)
    preprocessing, network, progress = _trained(task, listener, resume=resume)
    judged = task.judged(network, preprocessing)
    model = _saved(task, network, progress, preprocessing, judged, time.monotonic() - began)
    save_model(task.folder, model, model_card(model))
    record.discard_checkpoint(task.folder)
    return model


def try_task(task: Task[Network], listener: Listener, *, resume: bool = False) -> Progress:
    """Train and look at the validation part alone: nothing of the test part is scored, and no model is saved."""
    _enter(task, resume=resume)
    _, _, progress = _trained(task, listener, resume=resume)
    return progress


def identity_of(task: Task[Network]) -> record.Run:
    """Everything that decides the bytes of a task's weights."""
    kind = {"kind": task.answers()["task"], **task.choices(), "split": task.split.describe()}
    return record.Run(task.config.to_json(), kind, task.store.digest, record.threads(), arithmetic())


def _enter(task: Task[Network], *, resume: bool) -> None:
    """Refuse a folder that is not free, or holds another run than the one to go on with."""
    if resume:
        record.resume(task.folder, identity_of(task))
    else:
        record.require_free(task.folder)


@flush_denormals()
def _trained(task: Task[Network], listener: Listener, *, resume: bool) -> tuple[Preprocessing, Network, Progress]:
    """The network with its best weights."""
    torch.use_deterministic_algorithms(True)
    alone = not family_of(task.config.model).reads_events
    cut, known = task.split.train.as_of, task.known()
    preprocessing = preprocessing_for(task.store, cut, task.config, accounts_alone=alone, known=known)
    network = task.network(input_spec(preprocessing)).to(task.device)
    if not resume:
        # Not earlier: what the store can't give, or the settings can't have, leaves no run behind.
        record.begin(task.folder, identity_of(task))
    lessons = task.lessons(network, preprocessing)
    if isinstance(network, FittedAtOnce):
        progress = _fit_at_once(network, lessons, task.config.train.metric)
    else:
        progress = _fit(task, network, lessons, listener, resume=resume)
    return preprocessing, network, progress


def _fit_at_once(network: FittedAtOnce, lessons: Lessons[Any], metric: str) -> Progress:
    """There are no epochs, and nothing to take up again: a run that was killed begins anew."""
    kinds = np.split(np.arange(sum(lessons.sizes)), np.cumsum(lessons.sizes)[:-1])
    examples = [(lessons.make(items, 0), *lessons.answers_of(items)) for items in kinds]
    network.fit(*(torch.cat(parts) for parts in zip(*examples, strict=True)))
    return Progress(finished=True, best_metric=lessons.judge()[metric])


def _fit(task: Task[Network], network: Network, lessons: Lessons[Any], listener: Listener, *, resume: bool) -> Progress:
    """Step by step; leaves the network with its best weights."""
    config, settings = task.config, task.config.train
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
    state = State(network, optimiser, {})
    if resume:
        state.load(task.folder)
    loader = Loader(
        lessons.make,
        lessons.sizes,
        batch_size=config.sampling.batch_size,
        seed=config.train.seed,
        workers=config.train.workers,
    )
    train(state, loader, lessons.loss_of, lessons.judge, config.train, task.folder, listener)
    network.load_state_dict(state.best)
    return state.progress


def _saved(
    task: Task[Network],
    network: Network,
    progress: Progress,
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
            "threads": record.threads(),
            "arithmetic": arithmetic(),
            "versions": record.versions(),
            "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "training_seconds": round(seconds, 1),
        },
    )
