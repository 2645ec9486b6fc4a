"""All runs of an experiment: those that were done before are kept, the others done, one by one or side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gtea.errors import UsageError
from gtea.experiments.paper.jobs import Job, Outcome, read_outcome
from gtea.experiments.paper.run_job import run_job
from gtea.experiments.paper.worker_pool import run_in_workers
from gtea.runtime.files import locked
from gtea.training.loop import TrainingReport

PATIENCE = 10.0
"""Seconds that the helpers of a run that was just killed have to notice it."""


def busy(folder: Path) -> UsageError:
    """What to say when another process works in the folder."""
    return UsageError(f"{folder}: another gtea reproduce is working there. Wait for it, or choose another --out.")


@dataclass(frozen=True)
class JobStatus:
    """Where an experiment stands: after each run, and in between as training reports."""

    ended: Mapping[str, Outcome]
    """All outcomes so far, by the stems of their jobs."""
    total: int
    seconds_left: float | None
    """A guess from the runs so far; None before the first."""
    job: Job
    outcome: Outcome | None = None
    """Of the job, if it has just ended."""
    report: TrainingReport | None = None


JobListener = Callable[[JobStatus], None]


def run_jobs(jobs: Sequence[Job], out: Path, listener: JobListener, *, parallel_map: int = 1) -> dict[str, Outcome]:
    """The outcome of every job by its stem, all of one group.

    Killed at any moment, it goes on where it was: ended runs are kept, those under way take up their checkpoints.
    """
    if parallel_map < 1:
        raise UsageError(f"--jobs: must be at least 1 (got {parallel_map}). Try 2.")
    wanted = {job.stem: job for job in jobs}
    folder = jobs[0].outcome_file(out).parent
    with locked(folder, busy(folder), timeout=PATIENCE) as lock:
        ended = {stem: outcome for stem, job in wanted.items() if (outcome := read_outcome(job, out)) is not None}
        missing = [job for stem, job in wanted.items() if stem not in ended]
        progress = _Progress(wanted, ended, min(parallel_map, max(1, len(missing))), listener)
        if parallel_map == 1:
            for job in missing:
                progress.ended(job, run_job(job, out, partial(progress.told, job)))
        else:
            run_in_workers(missing, out, parallel_map, lock, progress.told, progress.ended)
    return ended


class _Progress:
    """Counts, guesses how long it will take, and tells."""

    def __init__(self, wanted: dict[str, Job], ended: dict[str, Outcome], width: int, listener: JobListener) -> None:
        self._wanted = wanted
        self._ended = ended
        self._width = width
        self._listener = listener

    def told(self, job: Job, report: TrainingReport) -> None:
        self._listener(JobStatus(self._ended, len(self._wanted), self._left(), job, report=report))

    def ended(self, job: Job, outcome: Outcome) -> None:
        self._ended[job.stem] = outcome
        self._listener(JobStatus(self._ended, len(self._wanted), self._left(), job, outcome=outcome))

    def _left(self) -> float | None:
        """The missing runs take as long as those of the same model did, or else as all others did."""
        took: dict[str, list[float]] = {}
        for outcome in self._ended.values():
            if not outcome.interrupted:
                took.setdefault(outcome.model, []).append(outcome.seconds)
        if not took:
            return None
        means = {model: sum(seconds) / len(seconds) for model, seconds in took.items()}
        usual = sum(means.values()) / len(means)
        missing = [job.model for stem, job in self._wanted.items() if stem not in self._ended]
        return sum(means.get(model, usual) for model in missing) / self._width
