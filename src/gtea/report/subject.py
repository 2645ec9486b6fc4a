"""What the cases of a report have in common, ready for JSON: workers make pages from it."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gtea.report.ranking import Expected, Ranking, expected_precision
from gtea.report.standing_figure import score_counts
from gtea.scoring.scorer import NodeModel
from gtea.tasks.uncertainty import Interval


@dataclass(frozen=True)
class Subject:
    """A model, a store, and how all accounts score."""

    model_name: str
    store_name: str
    score_counts: tuple[int, ...]
    """How many accounts have a score in each of equal ranges from 0 to 1."""
    num_accounts: int
    """How many accounts are ranked: those with an event before the cut."""
    expected: Expected | None
    num_read: int
    """How many of a pair's last events the model reads."""
    positive: str | None
    """The class whose probability ranks, if there are two."""
    version: str

    def to_json(self) -> dict[str, Any]:
        """For a worker."""
        return asdict(self)

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Subject:
        """From the parent of a worker."""
        expected = content["expected"]
        if expected is not None:
            intervals = tuple(Interval(**each) for each in expected["intervals"])
            expected = Expected(expected["part"], expected["num_labelled"], intervals)
        return Subject(**{**content, "score_counts": tuple(content["score_counts"]), "expected": expected})


def subject_of(model: NodeModel, model_name: str, store_name: str, ranking: Ranking, most: int) -> Subject:
    """What a report of so many accounts says on each of its pages."""
    return Subject(
        model_name,
        store_name,
        tuple(score_counts(ranking.scores).tolist()),
        len(ranking),
        expected_precision(model.saved, ranking, most),
        model.config.sampling.max_events,
        model.positive,
        importlib.metadata.version("gtea"),
    )
