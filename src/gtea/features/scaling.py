"""Scalers of columns, ranks and times, fitted on training data and saved with the model.

Columns (``ColumnScaler``): amounts of money span many orders of magnitude, and a network that reads them raw sees only
the largest. A column with a heavy tail is therefore put on a log scale first: sign(x) log(1 + |x| / small), where
``small`` is the 5th percentile of the non-zero absolute values. Nearly the whole column then lies where the scale is
logarithmic, whatever its currency, and zero and the sign are kept. Every column is then standardised to mean 0 and
standard deviation 1.

A column has a heavy tail if its outermost 0.1 % lie more than ten times as far from the median as its quartiles do, on
either side. For a uniform column the ratio is 2, for a normal one 4.6, exponential 9, log-normal 22 (sigma 1). The test
uses quantiles, not moments, so that a single absurd value does not decide.

Ranks (``RankScaler``): the rank of a value among those of the training window, from 0 to 1. A tree can split between
any two values. A network has to bend its function there, and can't where a few huge values have squeezed all others
together. Ranks spread the values out, whatever their scale. They count distinct values, not rows: in a graph where
nearly all accounts have one event, the few that matter would otherwise share the last sliver. NaN, the time of
something that never happened, gets rank 1. Where NaN is expected, numbers end below 1, so that "longer ago than ever
before" and "never" stay apart.

Times (``TimeScaler``): (t - origin) / unit, computed in float64 and then cast to float32. Cast directly, Unix seconds
would have a resolution of 128 s. The origin is the first event of the training window. The unit is a day or, for
counters, the power of ten that makes the window at most 10,000 units long. Both are stored in nanoseconds, not in the
store's unit, so that the model can read a store whose times have become finer after an append.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gtea.errors import ModelError
from gtea.runtime.jit import jit
from gtea.store.time_units import UNITS_PER_SECOND

LogScale = Literal["auto", "always", "never"]

_HEAVY_RATIO = 10
_LEVELS = np.array([0.001, 0.25, 0.5, 0.75, 0.999])
_SMALL_PERCENTILE = 5
_MAX_KNOTS = 64
_NAN_MARGIN = 1 / 16
"""The gap between the largest number and NaN: the width of one of the soft bins of ``gtea.nn.heads``."""
_NS = 10**9
_DAY = 86_400
_MAX_SPAN = 10_000


@dataclass(frozen=True)
class ColumnScaler:
    """Scales columns to mean 0 and standard deviation 1, heavy-tailed ones on a log scale."""

    names: tuple[str, ...]
    small: tuple[float, ...]
    """The absolute value at which the log scale starts; 0 for a linear column."""
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def transform(self, values: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Scale rows of raw values, in float64. Rows are independent of one another."""
        return _scaled(values, *(np.array(each, dtype=np.float64) for each in (self.small, self.mean, self.std)))

    def to_json(self) -> dict[str, Any]:
        """For the model's preprocessing.json."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(content: dict[str, Any]) -> ColumnScaler:
        """From a model's preprocessing.json."""
        return ColumnScaler(*(tuple(content[field.name]) for field in dataclasses.fields(ColumnScaler)))


def fit_columns(
    names: Sequence[str],
    values: NDArray[np.floating[Any]],
    *,
    log: LogScale = "auto",
    always_log: Collection[str] = (),
) -> ColumnScaler:
    """Fit a scaler on rows of training data. Without rows, columns are left unchanged.

    Args:
        values: [rows, columns].
        log: Which columns are put on a log scale: those with a heavy tail (``auto``), all, or none.
        always_log: Names of columns that are always put on a log scale.
    """
    fitted = []
    for i, name in enumerate(names):
        column = values[:, i].astype(np.float64)
        use_log = log == "always" or name in always_log or (log == "auto" and heavy_tailed(column))
        small = _small_size(column) if use_log else 0.0
        fitted.append((small, *_mean_and_std(_log_scaled(column, small))))
    return ColumnScaler(tuple(names), *(zip(*fitted, strict=True) if fitted else ((), (), ())))


def heavy_tailed(column: NDArray[np.float64]) -> bool:
    """Whether the outermost values lie far beyond the quartiles."""
    if not len(column):
        return False
    ranks = np.round(_LEVELS * (len(column) - 1)).astype(np.int64)
    lowest, lower, median, upper, highest = np.partition(column, ranks)[ranks]
    bulk = max(upper - median, median - lower)
    return bool(max(highest - median, median - lowest) > _HEAVY_RATIO * bulk)


@dataclass(frozen=True)
class RankScaler:
    """Maps columns to ranks from 0 to 1."""

    names: tuple[str, ...]
    knots: tuple[tuple[float, ...], ...]
    """For each column, ascending values at equally spaced ranks; ranks are interpolated between them."""
    with_nan: bool
    """Whether rank 1 is reserved for NaN."""

    def transform(self, values: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Ranks from 0 to 1; NaN has rank 1. Rows are independent of one another."""
        ranks = np.zeros(values.shape, dtype=np.float32)
        largest = 1 - _NAN_MARGIN if self.with_nan else 1
        for i, knots in enumerate(self.knots):
            if len(knots) > 1:
                ranks[:, i] = np.interp(values[:, i], knots, np.linspace(0, largest, len(knots)))
                ranks[np.isnan(values[:, i]), i] = 1
        return ranks

    def to_json(self) -> dict[str, Any]:
        """For the model's preprocessing.json."""
        return asdict(self)

    @staticmethod
    def from_json(content: dict[str, Any]) -> RankScaler:
        """From a model's preprocessing.json."""
        knots = tuple(tuple(knots) for knots in content["knots"])
        return RankScaler(tuple(content["names"]), knots, content["with_nan"])


def fit_ranks(names: Sequence[str], values: NDArray[np.floating[Any]], *, with_nan: bool = False) -> RankScaler:
    """Fit ranks on rows of training data. A constant column has rank 0 everywhere.

    Args:
        values: [rows, columns].
        with_nan: Reserve rank 1 for NaN, even if these rows have none.
    """
    return RankScaler(tuple(names), tuple(_knots(values[:, i]) for i in range(len(names))), with_nan)


@dataclass(frozen=True)
class TimeScaler:
    """Scales times and time spans. ``origin`` and ``unit`` are in nanoseconds, or in steps for counters."""

    origin: int
    unit: int
    span: float
    """The length of the training window in units: the longest period of the time encoding."""
    steps: bool = False

    def transform(self, times: NDArray[np.int64], stored_unit: str) -> NDArray[np.float32]:
        """Scale times that are stored in s, us, ns or steps."""
        ns_per_stored = self._ns_per_stored(stored_unit)
        # The difference is taken in integers. The remainder is zero unless the store is coarser than the origin.
        quotient, remainder = divmod(self.origin, ns_per_stored)
        elapsed = (times - quotient).astype(np.float64) - remainder / ns_per_stored
        return (elapsed / (self.unit / ns_per_stored)).astype(np.float32)

    def transform_spans(self, spans: NDArray[np.int64], stored_unit: str) -> NDArray[np.float32]:
        """Scale lengths of time. They have no origin, so their precision does not depend on the date."""
        return (spans / self.stored_per_unit(stored_unit)).astype(np.float32)

    def stored_per_unit(self, stored_unit: str) -> float:
        """How many stored time units make one unit of the model."""
        return self.unit / self._ns_per_stored(stored_unit)

    def _ns_per_stored(self, stored_unit: str) -> int:
        """Nanoseconds per stored time unit; 1 for steps."""
        if (stored_unit == "step") != self.steps:
            kinds = ("dates", "steps") if self.steps else ("steps", "dates")
            raise ModelError(
                f"times: the store has {kinds[0]} and the model was trained on {kinds[1]}. Train on such a store."
            )
        return 1 if self.steps else _NS // UNITS_PER_SECOND[stored_unit]

    def to_json(self) -> dict[str, Any]:
        """For the model's preprocessing.json."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(content: dict[str, Any]) -> TimeScaler:
        """From a model's preprocessing.json."""
        return TimeScaler(**content)


def fit_times(first: int, last: int, stored_unit: str, unit_seconds: int = _DAY) -> TimeScaler:
    """Fit the scaler of a training window.

    Args:
        first: The stored time of the window's first event.
        last: The stored time of its last event.
        unit_seconds: The unit for calendar times. Counters get a power of ten.
    """
    if stored_unit == "step":
        unit = 1
        while (last - first) / unit > _MAX_SPAN:
            unit *= 10
        return TimeScaler(first, unit, (last - first) / unit, steps=True)
    ns_per_stored = _NS // UNITS_PER_SECOND[stored_unit]
    unit = unit_seconds * _NS
    return TimeScaler(first * ns_per_stored, unit, (last - first) * ns_per_stored / unit)


@jit
def _scaled(
    values: NDArray[np.floating[Any]],
    small: NDArray[np.float64],
    mean: NDArray[np.float64],
    std: NDArray[np.float64],
) -> NDArray[np.float32]:
    """Compiled, because batches are scaled in background threads: NumPy would hold the GIL and block the model."""
    scaled = np.empty(values.shape, dtype=np.float32)
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            value = np.float64(values[i, j])
            if small[j] != 0 and value != 0:
                value = np.sign(value) * np.log1p(np.abs(value) / small[j])
            scaled[i, j] = (value - mean[j]) / std[j]
    return scaled


def _log_scaled(column: NDArray[np.float64], small: float) -> NDArray[np.float64]:
    return np.sign(column) * np.log1p(np.abs(column) / small) if small else column


def _small_size(column: NDArray[np.float64]) -> float:
    sizes = np.abs(column[column != 0])
    return float(np.percentile(sizes, _SMALL_PERCENTILE)) if len(sizes) else 1.0


def _mean_and_std(column: NDArray[np.float64]) -> tuple[float, float]:
    """A constant column is scaled to zeros: rounding errors of its mean must not be amplified."""
    if not len(column):
        return 0.0, 1.0
    if column.min() == column.max():
        return float(column[0]), 1.0
    return float(column.mean()), float(column.std())


def _knots(column: NDArray[np.floating[Any]]) -> tuple[float, ...]:
    distinct = np.unique(column[np.isfinite(column)].astype(np.float64))
    if len(distinct) > _MAX_KNOTS:
        distinct = np.unique(np.quantile(distinct, np.linspace(0, 1, _MAX_KNOTS)))
    return tuple(float(value) for value in distinct)
