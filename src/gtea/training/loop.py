"""The training loop: batches, optimiser steps, and validation after each epoch. Independent of the task."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gtea.config import TrainConfig
from gtea.errors import ModelError
from gtea.runtime.device import checkpoint_seconds
from gtea.runtime.files import atomic_write
from gtea.runtime.rng import Purpose, seed_of
from gtea.sampling.loader import Loader
from gtea.training.checkpoint import TrainingState
from gtea.training.micro_batches import GradientRows, MicroBatch
from gtea.training.workers import ALONE, Workers

METRICS = "metrics.jsonl"
_CLIP_NORM = 5.0


class _CountedBatch(Protocol):
    """A batch that reports its number of events."""

    @property
    def num_events(self) -> int:
        """The number of events that the encoders read."""


Batch = TypeVar("Batch", bound=_CountedBatch)


@dataclass(frozen=True)
class TrainingReport:
    """Progress of a run. Sent after each batch, and again after each epoch."""

    folder: Path
    epoch: int
    epochs: int
    """The maximum number of epochs; early stopping may end the run before."""
    done: float
    """The share of this epoch's batches that is done."""
    loss: float
    """The loss of the batch or, after the epoch, the mean loss."""
    events_per_second: float
    """Throughput since training was started or resumed, including validation."""
    metric: str
    best: float | None
    """The best value of ``metric`` on the validation part so far."""
    row: Mapping[str, Any] | None = None
    """After an epoch: its row of metrics.jsonl."""


TrainingListener = Callable[[TrainingReport], None]


class DivergenceError(ModelError):
    """The loss is NaN or infinite. Other settings may work."""


def no_report(report: TrainingReport) -> None:
    """A listener that does nothing."""


def train(
    state: TrainingState,
    loader: Loader[list[MicroBatch[Batch]]],
    loss_of: Callable[[NDArray[Any], Batch], Tensor],
    validate: Callable[[], Mapping[str, float]],
    config: TrainConfig,
    folder: Path,
    listener: TrainingListener,
    workers: Workers = ALONE,
) -> None:
    """Train until the validation metric stops improving. The best weights end up in ``state.best``.

    Every worker takes the same steps. The leader alone validates and writes.

    Args:
        state: The network, its optimiser and the counters. They may come from a checkpoint.
        loader: The batches of an epoch, each as the micro-batches that this worker computes.
        loss_of: Returns the mean loss over the items of a batch.
        validate: Returns the validation metrics of the current weights.
        config: The training settings.
        folder: The folder of the checkpoint and metrics.jsonl.
        listener: Called after each batch and each epoch.
        workers: Those who share the micro-batches.
    """
    rows = GradientRows(state.network)
    stopwatch = _Stopwatch(checkpoint_seconds())
    while not state.progress.finished:
        epoch = state.progress.epoch
        for group in state.optimiser.param_groups:
            group["lr"] = _learning_rate(config, epoch)
        for items, batch in loader.epoch(epoch, start=state.progress.batch):
            loss, num_events = _step(state, rows, loss_of, batch, config, workers)
            stopwatch.count(num_events)
            state.progress = state.progress.after_batch(loss, len(items))
            listener(_report(state, config, folder, stopwatch, epoch, state.progress.batch / len(loader), loss))
            if workers.leads and stopwatch.due():
                state.save(folder)
        workers.require_same_weights(state.network)
        _end_epoch(state, workers.from_leader(lambda: dict(validate())), config)
        if not workers.leads:
            continue
        # Before the checkpoint: a run that is killed between the two repeats the epoch and writes the same row. In the
        # reverse order, a run killed after its last epoch would never write the last row.
        _write_history(state, folder)
        state.save(folder)
        row = state.progress.history[-1]
        listener(replace(_report(state, config, folder, stopwatch, epoch, 1.0, row["loss"]), row=row))


def _learning_rate(config: TrainConfig, epoch: int) -> float:
    """Return the learning rate of an epoch. It is a pure function, so checkpoints do not store it."""
    if config.schedule == "none":
        return config.lr
    return config.lr * 0.5 * (1 + math.cos(math.pi * epoch / config.epochs))


def _step(
    state: TrainingState,
    rows: GradientRows,
    loss_of: Callable[[NDArray[Any], Batch], Tensor],
    batch: list[MicroBatch[Batch]],
    config: TrainConfig,
    workers: Workers,
) -> tuple[float, int]:
    """Compute this worker's gradients, add up those of all, and take the step. Returns the loss and the events."""
    count, progress = config.micro_batches, state.progress
    state.network.train()
    numbers = workers.share_of(count)
    own = rows.empty(len(numbers))
    for each in batch:
        # Dropout uses torch's global generator. Seeding it by the position in the run avoids saving its state.
        position = progress.batch * count + each.number
        torch.manual_seed(seed_of(config.seed, Purpose.DROPOUT, progress.epoch, position))
        loss = loss_of(each.items, each.inputs) * each.share
        rows.fill(own[each.number - numbers.start], loss, each.inputs.num_events)
    value, num_events = rows.add_up(workers.gather(own, count))
    nn.utils.clip_grad_norm_(state.network.parameters(), _CLIP_NORM)
    state.optimiser.step()
    if not math.isfinite(value):
        workers.fail(
            DivergenceError(
                f"training: the loss is {value} in epoch {progress.epoch}. "
                "Lower train.lr, or check the features for extreme values."
            )
        )
    return value, num_events


def _end_epoch(state: TrainingState, metrics: Mapping[str, float], config: TrainConfig) -> None:
    progress = state.progress
    loss = progress.loss_sum / max(1, progress.num_examples)
    row = {"epoch": progress.epoch, "loss": loss, **{f"validation_{name}": value for name, value in metrics.items()}}
    # On a tie, keep the first epoch.
    if metrics[config.metric] > progress.best_metric:
        state.best = {name: tensor.detach().cpu().clone() for name, tensor in state.network.state_dict().items()}
        progress = replace(progress, best_metric=metrics[config.metric], best_epoch=progress.epoch)
    epoch = progress.epoch + 1
    finished = epoch >= config.epochs or epoch - progress.best_epoch > config.patience
    state.progress = replace(
        progress,
        epoch=epoch,
        batch=0,
        loss_sum=0.0,
        num_examples=0,
        history=[*progress.history, row],
        finished=finished,
    )


def _write_history(state: TrainingState, folder: Path) -> None:
    """Rewrite all rows, to drop those that a killed run wrote after its last checkpoint."""
    with atomic_write(folder / METRICS) as stream:
        stream.write("".join(json.dumps(row) + "\n" for row in state.progress.history).encode())


def _report(
    state: TrainingState, config: TrainConfig, folder: Path, stopwatch: _Stopwatch, epoch: int, done: float, loss: float
) -> TrainingReport:
    best = state.progress.best_metric if state.progress.best_epoch >= 0 else None
    return TrainingReport(folder, epoch, config.epochs, done, loss, stopwatch.events_per_second(), config.metric, best)


class _Stopwatch:
    """Decides when a checkpoint is due, and measures the throughput."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._saved = self._started = time.monotonic()
        self._events = 0

    def due(self) -> bool:
        if time.monotonic() - self._saved < self._seconds:
            return False
        self._saved = time.monotonic()
        return True

    def count(self, events: int) -> None:
        self._events += events

    def events_per_second(self) -> float:
        return self._events / max(1e-9, time.monotonic() - self._started)
