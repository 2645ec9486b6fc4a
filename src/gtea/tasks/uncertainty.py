"""Uncertainty of metrics: over the examples they were measured on, and over folds or seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gtea.errors import DataError, UsageError
from gtea.tasks.metrics import require_finite


@dataclass(frozen=True)
class Interval:
    """A metric and the bounds of its confidence interval."""

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
    """Compute a percentile bootstrap interval of ``metric(*arrays)``. All arrays are resampled with the same rows.

    Args:
        metric: A function of the arrays.
        arrays: The arguments of the metric, each with one row per example.
        strata: The stratum of each example. Every resample keeps the size of each stratum. Pass the true classes here;
            otherwise a resample may miss a rare class, and the metric is undefined.
        level: The confidence level.
        num_resamples: The number of resamples.
        seed: The seed of the resampling.
    """
    if not 0 < level < 1 or num_resamples < 1:
        raise UsageError(
            "level, num_resamples: must be between 0 and 1, and at least 1 "
            f"(got {level} and {num_resamples}). Try 0.95 and 1000."
        )
    if len({len(array) for array in arrays}) != 1 or not len(arrays[0]):
        lengths = [len(array) for array in arrays]
        raise DataError(f"arrays: must have the same length, not 0 (got {lengths}). Pass one row per example.")
    rng = np.random.default_rng(seed)
    groups = _groups(len(arrays[0]), strata)
    values = np.empty(num_resamples)
    for draw in range(num_resamples):
        rows = np.concatenate([rng.choice(group, len(group)) for group in groups])
        values[draw] = metric(*(array[rows] for array in arrays))
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(metric(*arrays), float(low), float(high))


def mean_and_std(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean over folds or seeds and the sample standard deviation (n - 1), which is 0 for a single value."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or not len(numbers):
        raise DataError(f"values: must be at least one number (got shape {numbers.shape}). Pass a flat list.")
    require_finite(numbers)
    return float(numbers.mean()), float(numbers.std(ddof=1)) if len(numbers) > 1 else 0.0


def mean_interval(values: Sequence[float], *, level: float = 0.95) -> Interval:
    """Return the mean of independent repetitions and Student's t interval, which is wider the fewer there are.

    Args:
        values: At least two numbers.
        level: The confidence level.
    """
    if len(values) < 2:
        raise DataError(f"values: must be at least two numbers (got {len(values)}). Repeat the measurement.")
    mean, std = mean_and_std(values)
    radius = _t_quantile(level, len(values) - 1) * std / math.sqrt(len(values))
    return Interval(mean, mean - radius, mean + radius)


def _t_quantile(level: float, freedom: int) -> float:
    """Return the t for which P(-t <= T <= t) is the level, by bisection over theta = arctan(t / sqrt(freedom))."""
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_probability(middle, freedom) < level else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def _t_probability(theta: float, freedom: int) -> float:
    """Return P(-t <= T <= t). For whole degrees of freedom it is a finite sum (Abramowitz and Stegun, 26.7.3, 26.7.4).

    With s = sin(theta) and c = cos(theta):

        even: s (1 + 1/2 c^2 + (1 3)/(2 4) c^4 + ... up to c^(freedom - 2))
        odd:  2/pi (theta + s (c + 2/3 c^3 + (2 4)/(3 5) c^5 + ... up to c^(freedom - 2)))
    """
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = freedom % 2
    total, term = 0.0, cosine**odd
    for power in range(odd, freedom - 1, 2):
        total += term
        term *= cosine**2 * (power + 1) / (power + 2)
    return 2 / math.pi * (theta + sine * total) if odd else sine * total


def _groups(length: int, strata: ArrayLike | None) -> list[NDArray[np.int64]]:
    if strata is None:
        return [np.arange(length)]
    labels = np.asarray(strata)
    if labels.shape != (length,):
        raise DataError(
            f"strata: must name one stratum for each of {length} examples (got shape {labels.shape}). Pass one per row."
        )
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]
