"""The rows of a table: each point's outcomes, mean and spread of their figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gtea.experiments.paper.jobs import Job, Outcome
from gtea.experiments.paper.plan import Point
from gtea.tasks.uncertainty import mean_and_std

METRICS = {
    "accuracy": "accuracy",
    "macro_f1": "macro-F1",
    "average_precision": "average precision",
    "precision_at_positives": "precision@positives",
    "recall_at_1pct_fpr": "recall at 1 % FPR",
}
"""What tables show, if the task has it; k of precision@k is the number of positives."""


@dataclass(frozen=True)
class Spread:
    """A figure over runs."""

    mean: float
    std: float
    count: int

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """Mean and sample standard deviation."""
        return Spread(*mean_and_std(values), len(values))

    @property
    def text(self) -> str:
        """As it stands in a table."""
        return f"{self.mean:.4f} ± {self.std:.4f}" if self.count > 1 else f"{self.mean:.4f}"


@dataclass(frozen=True)
class Row:
    """A point and what came of its runs so far."""

    point: Point
    jobs: tuple[Job, ...]
    outcomes: tuple[Outcome, ...]
    """Those that have ended, failed ones among them."""

    @property
    def finished(self) -> tuple[Outcome, ...]:
        """The outcomes that have figures."""
        return tuple(outcome for outcome in self.outcomes if outcome.state == "finished")

    def values(self, metric: str) -> list[float]:
        """A figure of each finished run."""
        return [outcome.test[metric] for outcome in self.finished if metric in outcome.test]

    def spread(self, metric: str) -> Spread | None:
        """Mean and spread of a figure; None before the first run has finished."""
        values = self.values(metric)
        return Spread.of(values) if values else None

    def seconds(self) -> Spread | None:
        """How long a run takes, of those that were not interrupted."""
        took = [outcome.seconds for outcome in self.finished if not outcome.interrupted]
        return Spread.of(took) if took else None

    def to_json(self) -> dict[str, Any]:
        """Everything, for whoever wants to go on with it."""
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
        """How many runs came to nothing."""
        return len(self.outcomes) - len(self.finished)


def rows_of(points: Sequence[Point], jobs: Sequence[Sequence[Job]], ended: Mapping[str, Outcome]) -> list[Row]:
    """The rows in the order of the points."""
    return [
        Row(point, tuple(each), tuple(ended[job.stem] for job in each if job.stem in ended))
        for point, each in zip(points, jobs, strict=True)
    ]


def in_turns(jobs: Sequence[Sequence[Job]]) -> list[Job]:
    """First the first run of every row, then the second: a table is complete early, if not yet certain."""
    return [job for turn in zip(*jobs, strict=True) for job in turn]


def shown_metrics(rows: Iterable[Row]) -> list[str]:
    """The metrics of a table that its task has."""
    found = {name for row in rows for outcome in row.finished for name in outcome.test}
    return [name for name in METRICS if name in found]
