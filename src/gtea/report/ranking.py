"""All accounts by score, and what to expect of the first of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from gtea.models.model_folder import SavedModel
from gtea.tasks.thresholds import budget_threshold
from gtea.tasks.uncertainty import Interval

_PARTS = ("test", "validation")
"""The parts of a model to learn from what to expect; the threshold was chosen on the second."""
_FEWEST = 10
"""The labelled accounts that an expected precision must rest on. Of three, it is chance."""


@dataclass(frozen=True)
class Expected:
    """The precision to expect of the first 1, 2, .. accounts."""

    part: str
    """The part of the model's labelled accounts that it was measured on."""
    num_labelled: int
    intervals: tuple[Interval, ...]


@dataclass(frozen=True)
class Ranking:
    """The accounts with an event before the cut, the highest score first."""

    nodes: NDArray[np.int64]
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.nodes)

    def rank(self, node: int) -> int:
        """The place of an account, from 1."""
        return int(np.flatnonzero(self.nodes == node)[0]) + 1


def ranked(nodes: NDArray[np.int64], scores: NDArray[np.float64]) -> Ranking:
    """Rank accounts; equal scores in the store's order of accounts."""
    order = np.lexsort((nodes, -scores))
    return Ranking(nodes[order], scores[order])


def expected_precision(model: SavedModel, scores: NDArray[np.float64]) -> Expected | None:
    """What the model's own evaluated part says about the first accounts; None if there is no such part.

    The share of positives among its labelled accounts that score at least as high as the last account looked at, or
    among its ten highest if fewer do. It carries over if the accounts here are like those that were labelled.

    Args:
        scores: Those of the accounts in the report, the highest first.
    """
    positive = model.config.get("positive")
    if model.predictions is None or positive is None or "account" not in model.predictions.column_names:
        return None
    for part in _PARTS:
        rows = model.predictions.filter(pc.equal(model.predictions["part"], part))
        if len(rows) >= _FEWEST:
            truth = np.asarray(rows["target"]) == model.config["classes"].index(positive)
            intervals = _intervals(truth, np.asarray(rows[f"p_{positive}"]), scores)
            return Expected(part, len(rows), intervals)
    return None


def _intervals(
    truth: NDArray[np.bool_], probabilities: NDArray[np.float64], scores: NDArray[np.float64]
) -> tuple[Interval, ...]:
    highest = float(np.sort(probabilities)[-_FEWEST])
    found = []
    for score in np.minimum(scores, highest).tolist():
        precision = budget_threshold([score], 1, truth=truth, probabilities=probabilities).precision
        assert precision is not None, "ten labelled accounts score as high"
        found.append(precision)
    return tuple(found)
