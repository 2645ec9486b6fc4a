"""All accounts by score, and what to expect of the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gtea.models.model_folder import SavedModel
from gtea.tasks.thresholds import budget_threshold
from gtea.tasks.uncertainty import Interval

_PARTS = ("test", "validation")
"""The parts of a model to learn from what to expect; the threshold was chosen on the second."""


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


def expected_precision(model: SavedModel, ranking: Ranking, most: int) -> Expected | None:
    """What the model's own evaluated part says about the first accounts; None if there is no such part.

    The share of positives among its labelled accounts that score at least as high as the last account looked at. It
    carries over if the accounts here are like those that were labelled.
    """
    positive = model.config.get("positive")
    if model.predictions is None or positive is None or "account" not in model.predictions.column_names:
        return None
    for part in _PARTS:
        rows = model.predictions.filter(pa.compute.equal(model.predictions["part"], part))
        if len(rows):
            intervals = _intervals(model.config["classes"].index(positive), positive, rows, ranking.scores[:most])
            return None if intervals is None else Expected(part, len(rows), intervals)
    return None


def _intervals(place: int, positive: str, rows: pa.Table, scores: Sequence[float]) -> tuple[Interval, ...] | None:
    truth, probabilities = np.asarray(rows["target"]) == place, np.asarray(rows[f"p_{positive}"])
    found = []
    for score in scores:
        interval = budget_threshold([score], 1, truth=truth, probabilities=probabilities).precision
        # No labelled account scores as high: what is known of a little lower ones is the best there is.
        found.append(interval)
    known = [interval for interval in found if interval is not None]
    if not known:
        return None
    return tuple(interval or known[0] for interval in found)
