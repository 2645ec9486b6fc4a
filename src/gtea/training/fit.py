"""Train a task and save its model: fit the trees, train the network, fit the trees again, evaluate, save.

Everything that has to be chosen is chosen on the validation part. With ``train.refit_trees``, trees are then fitted to
the training and validation examples together, as of the later cut or several: they get more examples, and newer ones.
Trees of several cuts answer with the mean of their logits. The network is not trained again. Its epoch is the best of
many on the validation part, and without one it could not be chosen.

A killed run resumes to the same bytes. Batches and dropout are pure functions of the position in the run, fitted trees
are kept in a file, and the network is kept in a checkpoint.

Several processes can share the network's training (``train_task`` in the one that leads, ``assist`` in the others).
Trees, evaluation and all files are the leader's.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import json
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, Self, cast

import numpy as np
import torch
from torch import nn

from gtea.cluster.node_facts import node_facts
from gtea.config import InputSpec, RunConfig, TrainConfig
from gtea.errors import ModelError
from gtea.features.neighbour_labels import NeighbourLabels
from gtea.features.preprocessing import Preprocessing, input_spec, preprocessing_for
from gtea.models.boosted_trees import BoostedTrees, TabularModel
from gtea.models.hybrid import Hybrid
from gtea.models.model_folder import SavedModel, load_model, parquet_file, save_model
from gtea.models.registry import entry_of
from gtea.nn.kernels import arithmetic
from gtea.runtime.device import flush_denormals, loader_workers
from gtea.runtime.parallel import one_thread_in_every_library
from gtea.sampling.loader import Loader
from gtea.store.store import Store
from gtea.tasks.link_split import LinkSplit
from gtea.tasks.pair_split import PairSplit
from gtea.tasks.splits import Split
from gtea.training import run_record
from gtea.training.checkpoint import TREES, TrainingProgress, TrainingState, load_module, save_module
from gtea.training.evaluation import Evaluation
from gtea.training.fitted import Fitted, Network
from gtea.training.loop import TrainingListener, no_report, train
from gtea.training.micro_batches import micro_batches_of
from gtea.training.model_card import model_card
from gtea.training.objective import Objective
from gtea.training.reliability_figure import reliability_figure
from gtea.training.results import TaskOutputs
from gtea.training.workers import ALONE, Workers, require_shareable


class Task(Protocol[Network]):
    """A training task: the data, the settings and the output folder."""

    @property
    def store(self) -> Store:
        """The store with the events."""

    @property
    def split(self) -> Split | LinkSplit | PairSplit:
        """The training, validation and test examples, and the cut of each part."""

    @property
    def config(self) -> RunConfig:
        """The settings."""

    @property
    def folder(self) -> Path:
        """The folder of the run and its model."""

    @property
    def device(self) -> torch.device:
        """The device to train on."""

    def identity(self) -> dict[str, Any]:
        """Everything that determines the weights in addition to settings, split and store."""

    def outputs(self) -> TaskOutputs:
        """The kind of task and the meaning of the model's outputs, for config.json."""

    def neighbour_labels(self) -> NeighbourLabels | None:
        """The training labels; None if the task has no labelled accounts."""

    def network(self, spec: InputSpec) -> Network:
        """The initial network."""

    def objective(self, network: Network, preprocessing: Preprocessing) -> Objective[Any]:
        """The training objective of the network."""

    def with_validation(self) -> Sequence[Self]:
        """The same task, but the validation examples are training examples, too, as of one cut or several."""

    def held_out(self) -> Sequence[Sequence[Self]]:
        """For each block of the validation part, the tasks of ``with_validation`` without it. Some have no blocks."""

    def evaluate(
        self, chosen: Fitted[Network], final: Fitted[Network], held_out: Sequence[Fitted[Network]] = ()
    ) -> Evaluation:
        """The validation and test parts, each as of its own cut. Fits the blend of a hybrid.

        Args:
            chosen: Fitted to the training part. It answers the validation part if there are no blocks.
            final: The model that is saved. It answers the test part.
            held_out: For each block of the validation part, the model whose trees have not seen it.
        """

    def with_decisions(self, model: SavedModel) -> SavedModel:
        """The trained model with what the user asked of its decisions."""


def train_task(
    task: Task[Network], listener: TrainingListener, *, resume: bool = False, workers: Workers = ALONE
) -> SavedModel:
    """Train, keep the best weights by the validation metric, evaluate them once on the test part, and save the model.

    Resuming a finished run returns its model. The files are not written again: a crash could corrupt a complete model.

    Args:
        workers: Those who share the training. All others than this one call ``assist``.
    """
    started = time.monotonic()
    _require_joint(task, workers)
    with ExitStack() as stack:

        def begin() -> bool:
            stack.enter_context(run_record.running_in(task.folder))
            _check_folder(task, resume=resume)
            return resume and run_record.finished(task.folder)

        if workers.from_leader(begin):
            run_record.discard_checkpoint(task.folder)
            return _finished_model(task)
        with _threads(task.config.train):
            run = _fit(task, listener, resume=resume, workers=workers)
            final: Fitted[Network] = run.fitted
            held_out: list[Fitted[Network]] = []
            if task.config.train.refit_trees and _sets_of_trees(run.fitted.network):
                final, held_out = _refit_trees(task, run)
            evaluation = task.evaluate(run.fitted, final, held_out)
        model = task.with_decisions(_saved_model(task, run, final, evaluation, time.monotonic() - started))
        save_model(task.folder, model, model_card(model), reliability_figure(model))
        run_record.discard_checkpoint(task.folder)
        return model


def assist(task: Task[Network], workers: Workers) -> None:
    """Compute this worker's share of each batch, until the network is trained. Writes nothing."""
    _require_joint(task, workers)
    if not workers.from_leader(lambda: True):
        with _threads(task.config.train):
            _fit(task, no_report, resume=False, workers=workers)


def _require_joint(task: Task[Network], workers: Workers) -> None:
    """Raise unless the workers can share this training, and have the same task, data, versions and processors."""
    if workers.count == 1:
        return
    with workers.together():
        require_shareable(task.config, workers.count)
    here = {"device": task.device.type, "versions": run_record.versions(), "node": node_facts()}
    workers.require_alike({**run_identity(task).to_json(), **here}, socket.gethostname())


def _threads(config: TrainConfig) -> AbstractContextManager[None]:
    """Compute with as many threads as the run has, see ``run_record.threads_of``."""
    return nullcontext() if config.micro_batches == 1 else one_thread_in_every_library()


def _finished_model(task: Task[Network]) -> SavedModel:
    """The model of a finished run. Its metrics must be those of the run's own split."""
    model = load_model(task.folder)
    split = json.loads(json.dumps(task.split.describe()))  # Tuples become lists, as in the file.
    if model.metrics["split"] != split:
        raise ModelError(
            f"{model.where('metrics.json')}: must be of the split of its run (got another one). "
            "Restore it from a backup, or train again."
        )
    return model


def train_for_validation(task: Task[Network], listener: TrainingListener, *, resume: bool = False) -> TrainingProgress:
    """Train and validate only. The test part is not scored, and no model is saved."""
    with run_record.running_in(task.folder), _threads(task.config.train):
        _check_folder(task, resume=resume)
        return _fit(task, listener, resume=resume, workers=ALONE).progress


def run_identity(task: Task[Network]) -> run_record.RunIdentity:
    """Everything that determines the bytes of a task's weights."""
    kind = {"kind": task.outputs()["task"], **task.identity(), "split": task.split.describe()}
    threads = run_record.threads_of(task.config.train)
    return run_record.RunIdentity(task.config.to_json(), kind, task.store.digest, threads, arithmetic())


def _check_folder(task: Task[Network], *, resume: bool) -> None:
    """Raise if the folder is not empty or, when resuming, if it holds a different run."""
    if resume:
        run_record.resume(task.folder, run_identity(task))
    else:
        run_record.require_free(task.folder)


@dataclass(frozen=True)
class _Run(Generic[Network]):
    """A fitted model and its training record."""

    fitted: Fitted[Network]
    progress: TrainingProgress
    seconds: dict[str, float]
    """The duration of each step since the run was started or resumed."""


@flush_denormals()
def _fit(task: Task[Network], listener: TrainingListener, *, resume: bool, workers: Workers) -> _Run[Network]:
    """Fit the preprocessing, build the network, fit its trees if it has any, and train it."""
    torch.use_deterministic_algorithms(True)
    entry, of_accounts = entry_of(task.config.model), task.outputs()["task"] == "nodes"
    timer = _StepTimer()
    with workers.together():
        preprocessing = preprocessing_for(
            task.store,
            task.split.train.as_of,
            task.config,
            add_statistics=not entry.samples,
            add_context=entry.reads_context and of_accounts,
            for_trees=entry.has_trees and of_accounts,
            labels=task.neighbour_labels() if task.config.features.neighbour_labels else None,
        )
        network = task.network(input_spec(preprocessing)).to(task.device)
        if workers.leads and not resume:
            # Only now: a run that fails on invalid settings or data must not leave a folder behind.
            run_record.begin(task.folder, run_identity(task))
        objective = task.objective(network, preprocessing)
    timer.lap("preparation")
    if not entry.fitted_in_epochs:
        _fit_at_once(network, objective)
        progress = TrainingProgress(finished=True, best_metric=objective.validate()[task.config.train.metric])
        timer.lap("training")
        return _Run(Fitted(network, preprocessing), progress, timer.seconds)
    if isinstance(network, Hybrid):
        workers.from_leader(lambda: _fit_hybrid_trees(network, objective, task.folder, resume=resume))
        timer.lap("trees")
        with network.without_trees():
            progress = _train_network(task, network, objective, listener, resume=resume, workers=workers)
    else:
        progress = _train_network(task, network, objective, listener, resume=resume, workers=workers)
    timer.lap("training")
    return _Run(Fitted(network, preprocessing), progress, timer.seconds)


def _refit_trees(task: Task[Network], run: _Run[Network]) -> tuple[Fitted[Network], list[Fitted[Network]]]:
    """The same model with trees, and neighbour labels, of the training and validation examples together.

    And for each block of the validation part the same without it: what is chosen there is chosen for trees that know as
    much as those that are saved. A killed run does it again: it takes seconds.
    """
    started = time.monotonic()
    final = _with_trees_of(task.with_validation(), run.fitted)
    held_out = [_with_trees_of(tasks, run.fitted) for tasks in task.held_out()]
    run.seconds["trees again"] = round(time.monotonic() - started, 2)
    return final, held_out


def _with_trees_of(tasks: Sequence[Task[Network]], fitted: Fitted[Network]) -> Fitted[Network]:
    """The same model with the mean of the trees that are fitted to each of some tasks, and with their labels."""
    network, preprocessing = fitted
    if preprocessing.neighbour_labels is not None:
        preprocessing = replace(preprocessing, neighbour_labels=tasks[0].neighbour_labels())
    fits = [copy.deepcopy(network) for _ in tasks]
    for task, again in zip(tasks, fits, strict=True):
        objective = task.objective(again, preprocessing)
        if isinstance(again, Hybrid):
            again.fit_trees(*objective.examples())
        else:
            _fit_at_once(again, objective)
    network = copy.deepcopy(network)
    for name, trees in _sets_of_trees(network).items():
        trees.take_mean([_sets_of_trees(again)[name] for again in fits])
    return Fitted(network, preprocessing)


def _sets_of_trees(network: nn.Module) -> Mapping[str, BoostedTrees]:
    match network:
        case Hybrid():
            return network.trees()
        case BoostedTrees():
            return {"trees": network}
        case _:
            return {}


class _StepTimer:
    """Measures the duration of each step of a run."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.monotonic()

    def lap(self, step: str) -> None:
        now = time.monotonic()
        self.seconds[step] = round(now - self._last, 2)
        self._last = now


def _fit_hybrid_trees(network: Hybrid, objective: Objective[Any], folder: Path, *, resume: bool) -> None:
    """Fit the trees of a hybrid before its network is trained. A resumed run loads them if they are already fitted."""
    trees = nn.ModuleDict(network.trees())
    if resume and load_module(trees, folder / TREES):
        return
    network.fit_trees(*objective.examples())
    save_module(trees, folder / TREES)


def _fit_at_once(network: nn.Module, objective: Objective[Any]) -> None:
    """Fit a model that has no epochs. There is nothing to resume: a killed run starts again."""
    groups = np.split(np.arange(sum(objective.sizes)), np.cumsum(objective.sizes)[:-1])
    examples = [(objective.make_batch(items, 0), *objective.targets_of(items)) for items in groups]
    cast(TabularModel, network).fit(*(torch.cat(parts) for parts in zip(*examples, strict=True)))


def _train_network(
    task: Task[Network],
    network: Network,
    objective: Objective[Any],
    listener: TrainingListener,
    *,
    resume: bool,
    workers: Workers,
) -> TrainingProgress:
    """Train in epochs, and load the best weights into the network."""
    config = task.config
    optimiser = torch.optim.Adam(network.parameters(), lr=config.train.lr, weight_decay=config.train.weight_decay)
    state = TrainingState(network, optimiser, {})
    workers.from_leader(lambda: resume and state.load(task.folder))
    _share_state(state, workers)
    count = config.train.micro_batches
    loader = Loader(
        micro_batches_of(objective, count, workers.share_of(count)),
        objective.sizes,
        batch_size=config.sampling.batch_size,
        seed=config.train.seed,
        workers=loader_workers(),
    )
    train(state, loader, objective.loss_of, objective.validate, config.train, task.folder, listener, workers)
    network.load_state_dict(state.best)
    return state.progress


def _share_state(state: TrainingState, workers: Workers) -> None:
    """Let all workers begin where the leader is: it alone has the folder with the checkpoint."""
    if workers.count > 1:
        content = workers.bytes_from_leader(state.to_bytes() if workers.leads else b"")
        if not workers.leads:
            state.restore(content)


def _saved_model(
    task: Task[Network], run: _Run[Network], final: Fitted[Network], found: Evaluation, seconds: float
) -> SavedModel:
    progress = run.progress
    return SavedModel(
        {name: tensor.detach().cpu() for name, tensor in final.network.state_dict().items()},
        {
            **task.outputs(),
            "input": dataclasses.asdict(input_spec(final.preprocessing)),
            "run": task.config.to_json(),
        },
        final.preprocessing.to_json(),
        {
            **found.metrics,
            "best_epoch": progress.best_epoch,
            "epochs": progress.epoch,
            "refit_trees": final is not run.fitted,
            "split": task.split.describe(),
        },
        {
            "data_digest": task.store.digest,
            "seed": task.config.train.seed,
            "threads": run_record.threads_of(task.config.train),
            "arithmetic": arithmetic(),
            "versions": run_record.versions(),
            "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "training_seconds": round(seconds, 1),
            "seconds": run.seconds,
        },
        found.correction.to_json(),
        {"threshold": None if found.threshold is None else found.threshold.to_json()},
        parquet_file(found.predictions),
    )
