"""An experiment: all its runs, and a table that is rewritten after each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gtea.experiments.paper.plan import Plan, Point
from gtea.experiments.paper.rows import Row, interleaved, rows_of
from gtea.experiments.runs.jobs import Job
from gtea.experiments.runs.run_jobs import ALONE, Crew, JobListener, JobStatus, run_jobs
from gtea.experiments.runs.subject import Subject


@dataclass(frozen=True)
class Experiment:
    """Data, plan and points of an experiment, and its output folder."""

    subject: Subject
    plan: Plan
    points: Sequence[Point]
    out: Path
    crew: Crew = ALONE

    def check(self) -> None:
        """Raise an error for invalid settings or data that can't be split, before anything is trained."""
        self._jobs()[0][0].request().once(self.out).split.describe()

    def run(self, listener: JobListener, write: Callable[[list[Row]], object]) -> list[Row] | None:
        """Run all missing jobs. ``write`` gets the rows so far after each run. None if another process goes on."""
        jobs = self._jobs()

        def on_status(status: JobStatus) -> None:
            if status.outcome is not None:
                write(rows_of(self.points, jobs, status.outcomes))
            listener(status)

        outcomes = run_jobs(interleaved(jobs), self.out, on_status, self.crew)
        return None if outcomes is None else rows_of(self.points, jobs, outcomes)

    def _jobs(self) -> list[list[Job]]:
        return self.plan.jobs(self.subject, self.points)
