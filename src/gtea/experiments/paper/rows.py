"""The rows of a table: the outcomes of each point, with mean and standard deviation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gtea.experiments.paper.plan import Point
from gtea.experiments.runs.jobs import Job, Outcome
from gtea.tasks.uncertainty import mean_and_std

METRICS = {
    "accuracy": "accuracy",
    "macro_f1": "macro-F1",
    "average_precision": "average precision",
    "precision_at_positives": "precision@positives",
    "recall_at_1pct_fpr": "recall at 1 % FPR",
}
"""The metrics shown in tables, with their titles. precision@positives is precision at k = number of positives."""


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of a metric over runs."""

    mean: float
    std: float
    count: int

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """Compute mean and sample standard deviation."""
        return Spread(*mean_and_std(values), len(values))

    @property
    def text(self) -> str:
        """The text of a table cell."""
        return f"{self.mean:.4f} ± {self.std:.4f}" if self.count > 1 else f"{self.mean:.4f}"


@dataclass(frozen=True)
class Row:
    """A point and the outcomes of its runs so far."""

    point: Point
    jobs: tuple[Job, ...]
    outcomes: tuple[Outcome, ...]
    """Outcomes of the completed runs, including failed ones."""

    @property
    def finished(self) -> tuple[Outcome, ...]:
        """The outcomes of successful runs."""
        return tuple(outcome for outcome in self.outcomes if outcome.state == "finished")

    def values(self, metric: str) -> list[float]:
        """A metric of each finished run."""
        return [outcome.test[metric] for outcome in self.finished if metric in outcome.test]

    def spread(self, metric: str) -> Spread | None:
        """Mean and standard deviation of a metric; None before the first run has finished."""
        values = self.values(metric)
        return Spread.of(values) if values else None

    def seconds(self) -> Spread | None:
        """Run time of a run, over runs that were not interrupted."""
        durations = [outcome.seconds for outcome in self.finished if not outcome.interrupted]
        return Spread.of(durations) if durations else None

    def to_json(self) -> dict[str, Any]:
        """The full results as JSON."""
        names = self.finished[0].test if self.finished else {}
        spreads = {name: self.spread(name) for name in names}
        seconds = self.seconds()
        return {
            "label": self.point.label,
            "model": self.point.model,
            "settings": self.jobs[0].settings,
            "runs": {"wanted": len(self.jobs), "finished": len(self.finished), "failed": self.failed},
            "test": {name: {"mean": s.mean, "std": s.std} for name, s in spreads.items() if s is not None},
            "each": [{"run": outcome.label, "test": outcome.test} for outcome in self.finished],
            "seconds": None if seconds is None else round(seconds.mean, 1),
            "files": [job.stem for job in self.jobs],
        }

    @property
    def failed(self) -> int:
        """Number of failed runs."""
        return len(self.outcomes) - len(self.finished)


def rows_of(points: Sequence[Point], jobs: Sequence[Sequence[Job]], outcomes: Mapping[str, Outcome]) -> list[Row]:
    """Build one row per point from the outcomes so far."""
    return [
        Row(point, tuple(row_jobs), tuple(outcomes[job.stem] for job in row_jobs if job.stem in outcomes))
        for point, row_jobs in zip(points, jobs, strict=True)
    ]


def interleaved(jobs: Sequence[Sequence[Job]]) -> list[Job]:
    """Order jobs by repetition, so that every row gets its first result early."""
    return [job for repetition in zip(*jobs, strict=True) for job in repetition]


def shown_metrics(rows: Iterable[Row]) -> list[str]:
    """The metrics of ``METRICS`` that the task has."""
    available = {name for row in rows for outcome in row.finished for name in outcome.test}
    return [name for name in METRICS if name in available]
