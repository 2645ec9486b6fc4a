"""The training loop: batches, steps, and validation after each epoch. It knows nothing of the task."""

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

METRICS = "metrics.jsonl"
_CLIP_NORM = 5.0


class Counted(Protocol):
    """A batch, as far as the loop looks into it."""

    @property
    def num_events(self) -> int:
        """How many events the encoders read."""


Made = TypeVar("Made", bound=Counted)


@dataclass(frozen=True)
class TrainingReport:
    """Where training stands, after each batch and once more after each epoch."""

    folder: Path
    epoch: int
    epochs: int
    """The most there may be; patience may end the run before."""
    done: float
    """The share of this epoch's batches."""
    loss: float
    """Of the batch; after the epoch, its mean."""
    events_per_second: float
    """Since training began or was resumed, judging included."""
    metric: str
    best: float | None
    """Of that metric on the validation part, so far."""
    row: Mapping[str, Any] | None = None
    """After the epoch: its row of metrics.jsonl."""


TrainingListener = Callable[[TrainingReport], None]


class DivergenceError(ModelError):
    """The loss is no number any more: these settings lead nowhere, others may."""


def no_report(report: TrainingReport) -> None:
    """The listener of somebody who doesn't care."""


def train(
    state: TrainingState,
    loader: Loader[Made],
    loss_of: Callable[[NDArray[Any], Made], Tensor],
    validate: Callable[[], Mapping[str, float]],
    config: TrainConfig,
    folder: Path,
    listener: TrainingListener,
) -> None:
    """Train until the metric stops rising; leaves the best weights in ``state.best``.

    Args:
        loss_of: The mean loss over the items of a batch.
        validate: The validation metrics of the network as it is.
    """
    watch = _Watch(checkpoint_seconds())
    while not state.progress.finished:
        epoch = state.progress.epoch
        for group in state.optimiser.param_groups:
            group["lr"] = learning_rate(config, epoch)
        for items, batch in loader.epoch(epoch, start=state.progress.batch):
            loss = _step(state, loss_of, items, batch, config)
            watch.count(batch.num_events)
            state.progress = state.progress.after_batch(loss, len(items))
            listener(_report(state, config, folder, watch, epoch, state.progress.batch / len(loader), loss))
            if watch.due():
                state.save(folder)
        _end_epoch(state, validate, config)
        # Before the checkpoint: a run that dies between the two does the epoch again and writes the same row. The other
        # way round, one that had just finished would never write its last row.
        _write_history(state, folder)
        state.save(folder)
        row = state.progress.history[-1]
        listener(replace(_report(state, config, folder, watch, epoch, 1.0, row["loss"]), row=row))


def learning_rate(config: TrainConfig, epoch: int) -> float:
    """A pure function of the epoch: nothing to save, nothing to restore."""
    if config.schedule == "none":
        return config.lr
    return config.lr * 0.5 * (1 + math.cos(math.pi * epoch / config.epochs))


def _step(
    state: TrainingState,
    loss_of: Callable[[NDArray[Any], Made], Tensor],
    items: NDArray[Any],
    batch: Made,
    config: TrainConfig,
) -> float:
    # Dropout draws from torch's own generator; seeded by the place in the run, it needs no saving.
    torch.manual_seed(seed_of(config.seed, Purpose.DROPOUT, state.progress.epoch, state.progress.batch))
    state.network.train()
    state.optimiser.zero_grad(set_to_none=True)
    loss = loss_of(items, batch)
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(state.network.parameters(), _CLIP_NORM)
    state.optimiser.step()
    value = float(loss.detach())
    if not math.isfinite(value):
        raise DivergenceError(
            f"training: the loss is {value} in epoch {state.progress.epoch}. "
            "Lower train.lr, or look for extreme values in the features."
        )
    return value


def _end_epoch(state: TrainingState, validate: Callable[[], Mapping[str, float]], config: TrainConfig) -> None:
    progress = state.progress
    metrics = dict(validate())
    loss = progress.loss_sum / max(1, progress.num_examples)
    row = {"epoch": progress.epoch, "loss": loss, **{f"validation_{name}": value for name, value in metrics.items()}}
    # Of equally good epochs the first is kept.
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
    """All rows again: what a killed run wrote beyond its checkpoint must not stay."""
    with atomic_write(folder / METRICS) as stream:
        stream.write("".join(json.dumps(row) + "\n" for row in state.progress.history).encode())


def _report(
    state: TrainingState, config: TrainConfig, folder: Path, watch: _Watch, epoch: int, done: float, loss: float
) -> TrainingReport:
    best = state.progress.best_metric if state.progress.best_epoch >= 0 else None
    return TrainingReport(folder, epoch, config.epochs, done, loss, watch.events_per_second(), config.metric, best)


class _Watch:
    """Knows when a checkpoint is due, and how fast events go by."""

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
