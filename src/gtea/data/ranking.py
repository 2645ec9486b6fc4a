"""Columns of numbers as ranks: where a value stands among those of the training window, from 0 to 1.

A tree splits wherever values differ; a network has to bend its line there, and can't where a few huge values have
squeezed all others together. Ranks spread them out, whatever their scale. They count different values, not rows: in a
graph where nearly all accounts have one event, the few that matter would else share the last sliver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_KNOTS = 64


@dataclass(frozen=True)
class RankScaler:
    """The ranks of some columns."""

    names: tuple[str, ...]
    knots: tuple[tuple[float, ...], ...]
    """Of each column the values that ranks are counted between, ascending, at equal steps of rank."""

    def transform(self, values: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Ranks from 0 to 1; what is no number, a time that never was, comes last. Rows don't depend on one another."""
        ranks = np.zeros(values.shape, dtype=np.float32)
        for i, knots in enumerate(self.knots):
            if len(knots) > 1:
                column = np.where(np.isnan(values[:, i]), np.inf, values[:, i])
                ranks[:, i] = np.interp(column, knots, np.linspace(0, 1, len(knots)))
        return ranks

    def to_json(self) -> dict[str, Any]:
        """As it stands in a model's file."""
        return asdict(self)

    @staticmethod
    def from_json(content: dict[str, Any]) -> RankScaler:
        """The scaler of a model's file."""
        return RankScaler(tuple(content["names"]), tuple(tuple(knots) for knots in content["knots"]))


def fit_ranks(names: Sequence[str], values: NDArray[np.floating[Any]]) -> RankScaler:
    """Learn ranks from rows of training data; a column that never changes has rank 0 everywhere.

    Args:
        values: [rows, columns].
    """
    return RankScaler(tuple(names), tuple(_knots(values[:, i]) for i in range(len(names))))


def _knots(column: NDArray[np.floating[Any]]) -> tuple[float, ...]:
    different = np.unique(column[np.isfinite(column)].astype(np.float64))
    if len(different) > _KNOTS:
        different = np.unique(np.quantile(different, np.linspace(0, 1, _KNOTS)))
    return tuple(float(value) for value in different)
