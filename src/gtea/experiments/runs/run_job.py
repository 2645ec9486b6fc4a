"""Run one job: train or resume it, evaluate the model, and save the outcome.

A job is locked while it runs, and nothing else is: several commands in one folder share the work.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gtea.errors import ModelError, UsageError
from gtea.experiments.runs.few_labels_request import FewLabelsRequest
from gtea.experiments.runs.jobs import Job, Outcome, read_outcome, save_outcome
from gtea.models.model_folder import MANIFEST, SavedModel
from gtea.runtime.files import BusyError, locked
from gtea.training import run_record
from gtea.training.fit import Task, run_identity, train_task
from gtea.training.loop import DivergenceError, TrainingListener
from gtea.training.request import LinkRequest, NodeRequest


def run_job(job: Job, out: Path, listener: TrainingListener, *, with_model: bool = False) -> Outcome:
    """Train and evaluate the model of a job, unless that is done. A diverged run is saved as a failed outcome.

    Args:
        with_model: Whether it is not done if the model has been deleted since.

    Raises:
        BusyError: Another process is at work on the job.
    """
    with _running(job, out):
        known = read_outcome(job, out)
        if known is not None and not (with_model and not (job.model_folder(out) / MANIFEST).exists()):
            return known
        return _run(job, out, listener)


@contextlib.contextmanager
def _running(job: Job, out: Path) -> Iterator[None]:
    """Hold the lock of a job. Training locks the model's folder, but that may have to be emptied before."""
    busy = BusyError(f"{job.outcome_file(out)}: another gtea reproduce is at work on it. Wait for it.")
    with locked(_lock(job, out), busy):
        try:
            yield
        finally:
            _sweep(job, out)


def finished_outcome(job: Job, out: Path) -> Outcome | None:
    """The outcome of a job that is done. Whoever did it may have been killed before it had tidied up."""
    outcome = read_outcome(job, out)
    if outcome is not None:
        _sweep(job, out)
    return outcome


def _lock(job: Job, out: Path) -> Path:
    outcome = job.outcome_file(out)
    return outcome.with_name(f".{outcome.stem}.running")


def _sweep(job: Job, out: Path) -> None:
    with contextlib.suppress(OSError):  # there is none
        _lock(job, out).rmdir()


def _run(job: Job, out: Path, listener: TrainingListener) -> Outcome:
    start = time.monotonic()
    request = job.request()
    task, resume = _begin_or_resume(request, job.model_folder(out))
    try:
        model = train_task(task, listener, resume=resume)
    except DivergenceError as error:
        outcome = _failed(job, task, str(error), time.monotonic() - start, interrupted=resume)
        shutil.rmtree(task.folder)
    else:
        outcome = _finished(job, model, interrupted=resume)
        if isinstance(request, FewLabelsRequest):
            outcome = _tested(outcome, request, model, start)
    save_outcome(job.outcome_file(out), outcome)
    return outcome


def _begin_or_resume(request: NodeRequest | LinkRequest, folder: Path) -> tuple[Task[Any], bool]:
    """Return the task of a request, and whether its folder holds a run to resume.

    A run that would give another result if resumed, for example with another number of threads, starts over.
    """
    task: Task[Any] = request.once(folder)
    if (folder / run_record.RUN).exists():
        try:
            run_record.resume(folder, run_identity(task))
        except (UsageError, ModelError):
            pass
        else:
            return task, True
    if folder.exists():
        shutil.rmtree(folder)
    return task, False


def _finished(job: Job, model: SavedModel, *, interrupted: bool) -> Outcome:
    metrics, facts = model.metrics, model.facts
    return Outcome(
        **_identity(job),
        state="finished",
        reason=None,
        test=metrics.get("test", {}),
        validation=metrics["validation"],
        best_epoch=metrics["best_epoch"],
        epochs=metrics["epochs"],
        seconds=facts["training_seconds"],
        interrupted=interrupted,
        threads=facts["threads"],
        arithmetic=facts["arithmetic"],
        split=metrics["split"],
        versions=facts["versions"],
        created=facts["created"],
    )


def _tested(outcome: Outcome, request: FewLabelsRequest, model: SavedModel, start: float) -> Outcome:
    """Add the figures of the accounts that training did not know of. Seconds include scoring them."""
    test = request.test_metrics(model)
    split = {**outcome.split, "test": request.test_part()}
    return replace(outcome, test=test, split=split, seconds=round(time.monotonic() - start, 1))


def _failed(job: Job, task: Task[Any], reason: str, seconds: float, *, interrupted: bool) -> Outcome:
    run = run_identity(task)
    return Outcome(
        **_identity(job),
        state="failed",
        reason=reason,
        test={},
        validation={},
        best_epoch=-1,
        epochs=0,
        seconds=round(seconds, 1),
        interrupted=interrupted,
        threads=run.threads,
        arithmetic=run.arithmetic,
        split=task.split.describe(),
        versions=run_record.versions(),
        created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    )


def _identity(job: Job) -> dict[str, Any]:
    return {
        "data": job.subject.name,
        "task": job.subject.task,
        "protocol": job.protocol,
        "model": job.model,
        "fold": job.repeat.fold,
        "seed": job.repeat.seed,
        "per_class": job.repeat.per_class,
        "settings": job.settings,
        "config": job.config.to_json(),
        "data_digest": job.data_digest,
    }
