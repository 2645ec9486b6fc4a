"""All runs of an experiment: those that were done before are kept, the others done, one by one or side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gtea.errors import UsageError
from gtea.experiments.paper.jobs import Job, Outcome, read_outcome
from gtea.experiments.paper.run_job import perform
from gtea.experiments.paper.worker_pool import perform_side_by_side
from gtea.runtime.files import locked
from gtea.training.loop import Report

PATIENCE = 10.0
"""Seconds that the helpers of a run that was just killed have to notice it."""


def busy(folder: Path) -> UsageError:
    """What to say when another process works in the folder."""
    return UsageError(f"{folder}: another gtea reproduce is working there. Wait for it, or choose another --out.")


@dataclass(frozen=True)
class Standing:
    """Where an experiment stands: after each run, and in between as training reports."""

    ended: Mapping[str, Outcome]
    """All outcomes so far, by the stems of their jobs."""
    total: int
    seconds_left: float | None
    """A guess from the runs so far; None before the first."""
    job: Job
    outcome: Outcome | None = None
    """Of the job, if it has just ended."""
    report: Report | None = None


Listener = Callable[[Standing], None]


def run_all(jobs: Sequence[Job], out: Path, listener: Listener, *, side_by_side: int = 1) -> dict[str, Outcome]:
    """The outcome of every job by its stem, all of one group.

    Killed at any moment, it goes on where it was: ended runs are kept, those under way take up their checkpoints.
    """
    if side_by_side < 1:
        raise UsageError(f"--jobs: must be at least 1 (got {side_by_side}). Try 2.")
    wanted = {job.stem: job for job in jobs}
    folder = jobs[0].outcome_file(out).parent
    with locked(folder, busy(folder), patience=PATIENCE) as lock:
        ended = {stem: outcome for stem, job in wanted.items() if (outcome := read_outcome(job, out)) is not None}
        missing = [job for stem, job in wanted.items() if stem not in ended]
        progress = _Progress(wanted, ended, min(side_by_side, max(1, len(missing))), listener)
        if side_by_side == 1:
            for job in missing:
                progress.ended(job, perform(job, out, partial(progress.told, job)))
        else:
            perform_side_by_side(missing, out, side_by_side, lock, progress.told, progress.ended)
    return ended


class _Progress:
    """Counts, guesses how long it will take, and tells."""

    def __init__(self, wanted: dict[str, Job], ended: dict[str, Outcome], width: int, listener: Listener) -> None:
        self._wanted = wanted
        self._ended = ended
        self._width = width
        self._listener = listener

    def told(self, job: Job, report: Report) -> None:
        self._listener(Standing(self._ended, len(self._wanted), self._left(), job, report=report))

    def ended(self, job: Job, outcome: Outcome) -> None:
        self._ended[job.stem] = outcome
        self._listener(Standing(self._ended, len(self._wanted), self._left(), job, outcome=outcome))

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
