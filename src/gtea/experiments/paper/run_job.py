"""One run from beginning to end: trained, or gone on with after a kill, metrics_of, and its outcome kept."""

from __future__ import annotations

import datetime as dt
import shutil
import time
from pathlib import Path
from typing import Any

from gtea.errors import ModelError, UsageError
from gtea.experiments.paper.jobs import Job, Outcome, save_outcome
from gtea.models.model_folder import SavedModel
from gtea.training import run_record
from gtea.training.fit import Task, run_identity, train_task
from gtea.training.loop import DivergenceError, TrainingListener


def run_job(job: Job, out: Path, listener: TrainingListener) -> Outcome:
    """Train a job's model and judge it. A loss that is no number is an outcome, too: others may do better."""
    began = time.monotonic()
    task, begun = begin_or_resume(job, out)
    try:
        outcome = _finished(job, train_task(task, listener, resume=begun), interrupted=begun)
    except DivergenceError as error:
        outcome = _failed(job, task, str(error), time.monotonic() - began, interrupted=begun)
        shutil.rmtree(task.folder)
    save_outcome(job.outcome_file(out), outcome)
    return outcome


def begin_or_resume(job: Job, out: Path) -> tuple[Task[Any], bool]:
    """The job as a task in its folder, and whether a run is there to go on with.

    One that would not come out the same, such as with another number of threads, is begun anew.
    """
    folder = job.model_folder(out)
    task: Task[Any] = job.request().once(folder)
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
        **_which(job),
        state="finished",
        reason=None,
        test=metrics["test"],
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


def _failed(job: Job, task: Task[Any], reason: str, seconds: float, *, interrupted: bool) -> Outcome:
    identity = run_identity(task)
    return Outcome(
        **_which(job),
        state="failed",
        reason=reason,
        test={},
        validation={},
        best_epoch=-1,
        epochs=0,
        seconds=round(seconds, 1),
        interrupted=interrupted,
        threads=identity.threads,
        arithmetic=identity.arithmetic,
        split=task.split.describe(),
        versions=run_record.versions(),
        created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    )


def _which(job: Job) -> dict[str, Any]:
    return {
        "data": job.subject.name,
        "task": job.subject.task,
        "protocol": job.protocol,
        "model": job.model,
        "fold": job.repeat.fold,
        "seed": job.repeat.seed,
        "settings": job.settings,
        "config": job.config.to_json(),
        "data_digest": job.data_digest,
    }
