"""How sure a figure is: over the examples that it was measured on, and over folds or seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gtea.errors import DataError, UsageError
from gtea.tasks.metrics import require_finite


@dataclass(frozen=True)
class Interval:
    """A figure and how far it may be off."""

    value: float
    low: float
    high: float


def bootstrap_interval(
    metric: Callable[..., float],
    *arrays: NDArray[Any],
    strata: ArrayLike | None = None,
    level: float = 0.95,
    num_resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """The percentile bootstrap interval of ``metric(*arrays)``: rows are drawn again, with replacement, jointly.

    Args:
        arrays: What the metric takes, all with one row an example.
        strata: A number for each example. Each stratum keeps its size in every draw; give the truth here, or a rare
            class may not be drawn at all and the metric be undefined.
    """
    if not 0 < level < 1 or num_resamples < 1:
        raise UsageError(
            "level, num_resamples: must be between 0 and 1, and at least 1 "
            f"(got {level} and {num_resamples}). Try 0.95 and 1000."
        )
    if len({len(array) for array in arrays}) != 1 or not len(arrays[0]):
        raise DataError(f"arrays: must have the same length, not 0 (got {[len(array) for array in arrays]}).")
    rng = np.random.default_rng(seed)
    groups = _groups(len(arrays[0]), strata)
    values = np.empty(num_resamples)
    for draw in range(num_resamples):
        rows = np.concatenate([rng.choice(group, len(group)) for group in groups])
        values[draw] = metric(*(array[rows] for array in arrays))
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(metric(*arrays), float(low), float(high))


def mean_and_std(values: Sequence[float]) -> tuple[float, float]:
    """The mean over folds or seeds and the sample standard deviation (n - 1); of a single value, 0."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or not len(numbers):
        raise DataError(f"values: must be at least one number (got shape {numbers.shape}).")
    require_finite(numbers)
    return float(numbers.mean()), float(numbers.std(ddof=1)) if len(numbers) > 1 else 0.0


def _groups(length: int, strata: ArrayLike | None) -> list[NDArray[np.int64]]:
    if strata is None:
        return [np.arange(length)]
    kinds = np.asarray(strata)
    if kinds.shape != (length,):
        raise DataError(f"strata: must name one stratum for each of {length} examples (got shape {kinds.shape}).")
    return [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)]
