"""Run all jobs of an experiment: here, in processes of this machine, or wherever ``--on`` says.

Completed jobs are not repeated. Each job has a lock of its own, so several commands in one folder share the work.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from gtea.cluster.carriers import Carrier
from gtea.cluster.local_pool import LocalPool
from gtea.errors import UsageError
from gtea.experiments.runs.jobs import Job, Outcome, read_outcome
from gtea.experiments.runs.run_job import finished_outcome, run_job
from gtea.experiments.runs.run_tasks import run_as_tasks
from gtea.runtime.when_free import when_free
from gtea.training.epochs_done import share_trained
from gtea.training.loop import TrainingReport
from gtea.training.run_record import threads


@dataclass(frozen=True)
class Crew:
    """Who runs the jobs: this process alone, some processes of this machine, or a carrier."""

    num_processes: int = 1
    """Processes of this machine, which share its threads. Ignored if there is a carrier."""
    carrier: Carrier | None = None
    work: Path | None = None
    """The folder that the carrier's workers share."""

    def __post_init__(self) -> None:
        if self.num_processes < 1:
            raise UsageError(f"--jobs: must be at least 1 (got {self.num_processes}). Try 2.")


ALONE = Crew()


@dataclass(frozen=True)
class JobStatus:
    """Progress of an experiment, sent after each run, with each training report, and now and then."""

    outcomes: Mapping[str, Outcome]
    """All outcomes so far, by job stem."""
    total: int
    seconds_left: float | None
    """Estimated from the completed runs; None before the first."""
    job: Job | None = None
    """What the rest is about; None if it is about all runs that are not completed."""
    outcome: Outcome | None = None
    """The outcome of the job, if it has just completed."""
    report: TrainingReport | None = None
    under_way: float = 0.0
    """How much of the runs that are not completed is done: the sum of the shares of their epochs."""


JobListener = Callable[[JobStatus], None]


def run_jobs(jobs: Sequence[Job], out: Path, listener: JobListener, crew: Crew = ALONE) -> dict[str, Outcome] | None:
    """Run jobs and return their outcomes by stem; None if another process of the crew has them.

    After a kill, completed runs are kept and interrupted ones resume from their checkpoints.
    """
    by_stem = {job.stem: job for job in jobs}
    found = {stem: outcome for stem, job in by_stem.items() if (outcome := finished_outcome(job, out)) is not None}
    progress = _Progress(by_stem, found, out, crew, listener)
    if not _run_elsewhere(list(by_stem.values()), out, crew, progress):
        return None
    # All of them if nobody else has run any.
    missing = [job for stem, job in by_stem.items() if stem not in progress.outcomes]

    def run(number: int) -> Outcome:
        return run_job(missing[number], out, partial(progress.on_report, missing[number]))

    for number, outcome in when_free(run, range(len(missing))):
        progress.on_outcome(missing[number], outcome)
    return progress.outcomes


def _run_elsewhere(jobs: Sequence[Job], out: Path, crew: Crew, progress: _Progress) -> bool:
    """Let others run the jobs, if there are any others. Returns whether this process goes on with the outcomes."""
    if crew.carrier is not None:
        work = crew.work or out.with_name(f"{out.name}.parts")
        # A training has as many threads as without a carrier: its last bits depend on them.
        return run_as_tasks(crew.carrier, jobs, out, work, threads(), progress.look)
    missing = [job for job in jobs if job.stem not in progress.outcomes]
    processes = min(crew.num_processes, len(missing))
    if processes > 1:
        share = max(1, torch.get_num_threads() // processes)
        # What is kept is in the folder of the experiment.
        with tempfile.TemporaryDirectory(prefix="gtea-") as temporary:
            return run_as_tasks(LocalPool(processes), missing, out, Path(temporary), share, progress.look)
    return True


class _Progress:
    """Collects outcomes, estimates the remaining time, and notifies the listener."""

    def __init__(
        self, jobs: dict[str, Job], outcomes: dict[str, Outcome], out: Path, crew: Crew, listener: JobListener
    ) -> None:
        self.outcomes = outcomes
        self._jobs, self._out, self._listener = jobs, out, listener
        self._width = crew.num_processes if crew.carrier is None else crew.carrier.num_workers

    def on_report(self, job: Job, report: TrainingReport) -> None:
        self._listener(JobStatus(self.outcomes, len(self._jobs), self._seconds_left(), job, report=report))

    def on_outcome(self, job: Job, outcome: Outcome) -> None:
        self.outcomes[job.stem] = outcome
        self._listener(JobStatus(self.outcomes, len(self._jobs), self._seconds_left(), job, outcome=outcome))

    def look(self, stage: str, done: float | None) -> None:
        """See what others have done: whoever they are, it is in the folder."""
        for job in self._missing():
            outcome = read_outcome(job, self._out)
            if outcome is not None:
                self.on_outcome(job, outcome)
        shares = [share_trained([job.model_folder(self._out)], job.config.train.epochs) for job in self._missing()]
        self._listener(JobStatus(self.outcomes, len(self._jobs), self._seconds_left(), under_way=sum(shares)))

    def _missing(self) -> list[Job]:
        return [job for stem, job in self._jobs.items() if stem not in self.outcomes]

    def _seconds_left(self) -> float | None:
        """Assume the mean run time of the same model: on the same data, else on any, else that of all models."""
        times: dict[tuple[str, ...], list[float]] = {}
        for outcome in self.outcomes.values():
            if not outcome.interrupted:
                for key in ((outcome.data, outcome.model), (outcome.model,), ()):
                    times.setdefault(key, []).append(outcome.seconds)
        if not times:
            return None
        means = {key: sum(seconds) / len(seconds) for key, seconds in times.items()}
        missing = self._missing()
        expected = [means.get((job.subject.name, job.model), means.get((job.model,), means[()])) for job in missing]
        return sum(expected) / min(self._width, max(1, len(missing)))
