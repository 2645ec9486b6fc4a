"""An experiment from beginning to end: its runs, and a table that grows with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gtea.experiments.paper.jobs import Job
from gtea.experiments.paper.plan import Plan, Point
from gtea.experiments.paper.rows import Row, in_turns, rows_of
from gtea.experiments.paper.run_jobs import JobListener, JobStatus, run_jobs
from gtea.experiments.paper.subject import Subject


@dataclass(frozen=True)
class Experiment:
    """What is compared, on what, and where it goes."""

    subject: Subject
    plan: Plan
    points: Sequence[Point]
    out: Path
    parallel_map: int = 1

    def check(self) -> None:
        """Refuse what can't be, before anything is trained: settings that don't fit, data that can't be split."""
        self._jobs()[0][0].request().once(self.out).split.describe()

    def run(self, listener: JobListener, write: Callable[[list[Row]], object]) -> list[Row]:
        """Do what has not been done. The rows are written after each run: a long experiment can be looked at."""
        jobs = self._jobs()

        def follow(standing: JobStatus) -> None:
            if standing.outcome is not None:
                write(rows_of(self.points, jobs, standing.ended))
            listener(standing)

        done = run_jobs(in_turns(jobs), self.out, follow, parallel_map=self.parallel_map)
        return rows_of(self.points, jobs, done)

    def _jobs(self) -> list[list[Job]]:
        return self.plan.jobs(self.subject, self.points)
