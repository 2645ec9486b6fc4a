"""What the cases of a report have in common, ready for JSON: workers make pages from it."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.report.ranking import Expected, Ranking, expected_precision
from gtea.report.standing_figure import score_counts
from gtea.scoring.scorer import NodeModel
from gtea.tasks.uncertainty import Interval


@dataclass(frozen=True)
class CommonFacts:
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
    as_of_event: int | None = None
    """In a service, the number of the last event of its log that pages have beside those of the store."""

    @property
    def more_events(self) -> str:
        """What pages say of the data, behind the digest of the store."""
        return "" if self.as_of_event is None else f", with the events up to {self.as_of_event:,} of its log"

    def to_json(self) -> dict[str, Any]:
        """For a worker."""
        return asdict(self)

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> CommonFacts:
        """From the parent of a worker."""
        expected = content["expected"]
        if expected is not None:
            intervals = tuple(Interval(**each) for each in expected["intervals"])
            expected = Expected(expected["part"], expected["num_labelled"], intervals)
        return CommonFacts(**{**content, "score_counts": tuple(content["score_counts"]), "expected": expected})


def common_facts(
    model: NodeModel, model_name: str, store_name: str, ranking: Ranking, scores: NDArray[np.float64]
) -> CommonFacts:
    """What a report of accounts with these scores says on each of its pages."""
    return CommonFacts(
        model_name,
        store_name,
        tuple(score_counts(ranking.scores).tolist()),
        len(ranking),
        expected_precision(model.saved, scores),
        model.config.sampling.max_events,
        model.positive,
        importlib.metadata.version("gtea"),
    )
