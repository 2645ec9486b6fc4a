"""Run all jobs of an experiment, sequentially or in parallel. Completed jobs are not repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gtea.errors import UsageError
from gtea.experiments.runs.jobs import Job, Outcome, read_outcome
from gtea.experiments.runs.run_job import run_job
from gtea.experiments.runs.worker_pool import run_in_workers
from gtea.runtime.files import locked
from gtea.training.loop import TrainingReport

LOCK_TIMEOUT = 10.0
"""Seconds to wait for the lock. The workers of a killed run need a short time to exit."""


def busy_error(folder: Path) -> UsageError:
    """The error for a folder that another process is working in."""
    return UsageError(f"{folder}: another gtea reproduce is running there. Wait for it, or choose another --out.")


@dataclass(frozen=True)
class JobStatus:
    """Progress of an experiment, sent after each run and with each training report."""

    outcomes: Mapping[str, Outcome]
    """All outcomes so far, by job stem."""
    total: int
    seconds_left: float | None
    """Estimated from the completed runs; None before the first."""
    job: Job
    outcome: Outcome | None = None
    """The outcome of the job, if it has just completed."""
    report: TrainingReport | None = None


JobListener = Callable[[JobStatus], None]


def run_jobs(jobs: Sequence[Job], out: Path, listener: JobListener, *, num_workers: int = 1) -> dict[str, Outcome]:
    """Run jobs of one group and return their outcomes by stem.

    After a kill, completed runs are kept and interrupted ones resume from their checkpoints.
    """
    if num_workers < 1:
        raise UsageError(f"--jobs: must be at least 1 (got {num_workers}). Try 2.")
    by_stem = {job.stem: job for job in jobs}
    folder = jobs[0].outcome_file(out).parent
    with locked(folder, busy_error(folder), timeout=LOCK_TIMEOUT) as lock:
        outcomes = {stem: outcome for stem, job in by_stem.items() if (outcome := read_outcome(job, out)) is not None}
        missing = [job for stem, job in by_stem.items() if stem not in outcomes]
        progress = _Progress(by_stem, outcomes, min(num_workers, max(1, len(missing))), listener)
        if num_workers == 1:
            for job in missing:
                progress.on_outcome(job, run_job(job, out, partial(progress.on_report, job)))
        else:
            run_in_workers(missing, out, num_workers, lock, progress.on_report, progress.on_outcome)
    return outcomes


class _Progress:
    """Collects outcomes, estimates the remaining time, and notifies the listener."""

    def __init__(self, jobs: dict[str, Job], outcomes: dict[str, Outcome], width: int, listener: JobListener) -> None:
        self._jobs = jobs
        self._outcomes = outcomes
        self._width = width
        self._listener = listener

    def on_report(self, job: Job, report: TrainingReport) -> None:
        self._listener(JobStatus(self._outcomes, len(self._jobs), self._seconds_left(), job, report=report))

    def on_outcome(self, job: Job, outcome: Outcome) -> None:
        self._outcomes[job.stem] = outcome
        self._listener(JobStatus(self._outcomes, len(self._jobs), self._seconds_left(), job, outcome=outcome))

    def _seconds_left(self) -> float | None:
        """Assume the mean run time of the same model, or of all models if it has not run yet."""
        durations: dict[str, list[float]] = {}
        for outcome in self._outcomes.values():
            if not outcome.interrupted:
                durations.setdefault(outcome.model, []).append(outcome.seconds)
        if not durations:
            return None
        means = {model: sum(seconds) / len(seconds) for model, seconds in durations.items()}
        overall = sum(means.values()) / len(means)
        missing = [job.model for stem, job in self._jobs.items() if stem not in self._outcomes]
        return sum(means.get(model, overall) for model in missing) / self._width
