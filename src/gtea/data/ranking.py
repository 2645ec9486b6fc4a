"""Columns of numbers as ranks: where a value stands among those of the training window, from 0 to 1.

A tree splits wherever values differ; a network has to bend its line there, and can't where a few huge values have
squeezed all others together. Ranks spread them out, whatever their scale. They count different values, not rows: in a
graph where nearly all accounts have one event, the few that matter would else share the last sliver.

What is no number, a time that never was, comes last, and where such rows are to be expected it has the end for itself:
longer ago than ever before is not never.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_KNOTS = 64
_END = 1 / 16
"""What is kept between the largest number and what is none: as wide as one of the bins that networks read."""


@dataclass(frozen=True)
class RankScaler:
    """The ranks of some columns."""

    names: tuple[str, ...]
    knots: tuple[tuple[float, ...], ...]
    """Of each column the values that ranks are counted between, ascending, at equal steps of rank."""
    with_none: bool
    """Whether the end is kept for what is no number."""

    def transform(self, values: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Ranks from 0 to 1; what is no number comes last. Rows don't depend on one another."""
        ranks = np.zeros(values.shape, dtype=np.float32)
        largest = 1 - _END if self.with_none else 1
        for i, knots in enumerate(self.knots):
            if len(knots) > 1:
                ranks[:, i] = np.interp(values[:, i], knots, np.linspace(0, largest, len(knots)))
                ranks[np.isnan(values[:, i]), i] = 1
        return ranks

    def to_json(self) -> dict[str, Any]:
        """As it stands in a model's file."""
        return asdict(self)

    @staticmethod
    def from_json(content: dict[str, Any]) -> RankScaler:
        """The scaler of a model's file."""
        knots = tuple(tuple(knots) for knots in content["knots"])
        # Models that were trained before the end was kept don't say so.
        return RankScaler(tuple(content["names"]), knots, content.get("with_none", False))


def fit_ranks(names: Sequence[str], values: NDArray[np.floating[Any]], *, with_none: bool = False) -> RankScaler:
    """Learn ranks from rows of training data; a column that never changes has rank 0 everywhere.

    Args:
        values: [rows, columns].
        with_none: Whether rows without a number are to be expected, even if none of these is one.
    """
    return RankScaler(tuple(names), tuple(_knots(values[:, i]) for i in range(len(names))), with_none)


def _knots(column: NDArray[np.floating[Any]]) -> tuple[float, ...]:
    different = np.unique(column[np.isfinite(column)].astype(np.float64))
    if len(different) > _KNOTS:
        different = np.unique(np.quantile(different, np.linspace(0, 1, _KNOTS)))
    return tuple(float(value) for value in different)
