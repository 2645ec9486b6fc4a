"""Run all jobs of an experiment, sequentially or in parallel. Completed jobs are not repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
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
    """Run jobs and return their outcomes by stem.

    After a kill, completed runs are kept and interrupted ones resume from their checkpoints.
    """
    if num_workers < 1:
        raise UsageError(f"--jobs: must be at least 1 (got {num_workers}). Try 2.")
    by_stem = {job.stem: job for job in jobs}
    with _locked_groups({job.outcome_file(out).parent for job in jobs}) as locks:
        outcomes = {stem: outcome for stem, job in by_stem.items() if (outcome := read_outcome(job, out)) is not None}
        missing = [job for stem, job in by_stem.items() if stem not in outcomes]
        progress = _Progress(by_stem, outcomes, min(num_workers, max(1, len(missing))), listener)
        if num_workers == 1:
            for job in missing:
                progress.on_outcome(job, run_job(job, out, partial(progress.on_report, job)))
        else:
            run_in_workers(missing, out, num_workers, locks, progress.on_report, progress.on_outcome)
    return outcomes


@contextmanager
def _locked_groups(folders: set[Path]) -> Iterator[list[int]]:
    """Lock the folder of every group. Yields the file descriptors of the locks."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(locked(folder, busy_error(folder), timeout=LOCK_TIMEOUT)) for folder in sorted(folders)
        ]


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
        """Assume the mean run time of the same model: on the same data, else on any, else that of all models."""
        times: dict[tuple[str, ...], list[float]] = {}
        for outcome in self._outcomes.values():
            if not outcome.interrupted:
                for key in ((outcome.data, outcome.model), (outcome.model,), ()):
                    times.setdefault(key, []).append(outcome.seconds)
        if not times:
            return None
        means = {key: sum(seconds) / len(seconds) for key, seconds in times.items()}
        missing = [job for stem, job in self._jobs.items() if stem not in self._outcomes]
        expected = [means.get((job.subject.name, job.model), means.get((job.model,), means[()])) for job in missing]
        return sum(expected) / self._width
