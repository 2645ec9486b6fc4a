"""Numbers made fit for a network, by rules learnt from training data and saved with the model.

Amounts of money span many orders of magnitude, and a network that sees them raw sees only the largest. A column with
a heavy tail is therefore put on a log scale first: sign(x) log(1 + |x| / small), where ``small`` is the 5th percentile
of the sizes that are not zero. So the whole bulk of the column lies where the scale is logarithmic, whatever currency
it is in, and zero and the sign are kept. Then every column is shifted and divided to mean 0 and deviation 1.

A column has a heavy tail if its outermost 0.1 % lie more than ten times as far from the median as its quartiles do,
on either side: for a uniform column the ratio is 2, for a normal one 4.6, exponential 9, log-normal 22 (sigma 1).
Quantiles, not moments: one absurd value must not decide.
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

_HEAVY = 10

_LEVELS = np.array([0.001, 0.25, 0.5, 0.75, 0.999])

_SMALL_PERCENTILE = 5

_KNOTS = 64

_END = 1 / 16
"""What is kept between the largest number and what is none: as wide as one of the bins that networks read."""

_NS = 10**9

_DAY = 86_400

_LONGEST = 10_000


@dataclass(frozen=True)
class ColumnScaler:
    """How each of some columns is scaled."""

    names: tuple[str, ...]
    small: tuple[float, ...]
    """The size at which the log scale begins; 0 for a column that stays linear."""
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def transform(self, values: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Scale rows of raw values. Computed in float64; a row's result does not depend on the other rows."""
        return _scaled(values, *(np.array(each, dtype=np.float64) for each in (self.small, self.mean, self.std)))

    def to_json(self) -> dict[str, Any]:
        """As it stands in a model's file."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(content: dict[str, Any]) -> ColumnScaler:
        """The scaler of a model's file."""
        return ColumnScaler(*(tuple(content[field.name]) for field in dataclasses.fields(ColumnScaler)))


def fit_columns(
    names: Sequence[str],
    values: NDArray[np.floating[Any]],
    *,
    log: LogScale = "auto",
    always_log: Collection[str] = (),
) -> ColumnScaler:
    """Learn how to scale from rows of training data; no rows leave every column as it is.

    Args:
        values: [rows, columns].
        log: Which columns go on a log scale: those with a heavy tail, all, or none.
        always_log: Names of columns that do in any case.
    """
    fitted = []
    for i, name in enumerate(names):
        column = values[:, i].astype(np.float64)
        wanted = log == "always" or name in always_log or (log == "auto" and heavy_tailed(column))
        small = _small_size(column) if wanted else 0.0
        fitted.append((small, *_mean_and_std(_log_scaled(column, small))))
    return ColumnScaler(tuple(names), *(zip(*fitted, strict=True) if fitted else ((), (), ())))


def heavy_tailed(column: NDArray[np.float64]) -> bool:
    """Whether the outermost values lie far beyond what the quartiles lead one to expect."""
    if not len(column):
        return False
    ranks = np.round(_LEVELS * (len(column) - 1)).astype(np.int64)
    lowest, lower, median, upper, highest = np.partition(column, ranks)[ranks]
    bulk = max(upper - median, median - lower)
    return bool(max(highest - median, median - lowest) > _HEAVY * bulk)


@jit
def _scaled(
    values: NDArray[np.floating[Any]],
    small: NDArray[np.float64],
    mean: NDArray[np.float64],
    std: NDArray[np.float64],
) -> NDArray[np.float32]:
    """Compiled, because batches are scaled in the background: NumPy would hold up the model while it computes."""
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
    """A column that never changes becomes zeros: rounding in its mean must not be blown up."""
    if not len(column):
        return 0.0, 1.0
    if column.min() == column.max():
        return float(column[0]), 1.0
    return float(column.mean()), float(column.std())


@dataclass(frozen=True)
class RankScaler:
    """The ranks of some columns."""

    names: tuple[str, ...]
    knots: tuple[tuple[float, ...], ...]
    """Of each column the values that ranks are counted between, ascending, at equal steps of rank."""
    with_nan: bool
    """Whether the end is kept for what is no number."""

    def transform(self, values: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Ranks from 0 to 1; what is no number comes last. Rows don't depend on one another."""
        ranks = np.zeros(values.shape, dtype=np.float32)
        largest = 1 - _END if self.with_nan else 1
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
        return RankScaler(tuple(content["names"]), knots, content["with_nan"])


def fit_ranks(names: Sequence[str], values: NDArray[np.floating[Any]], *, with_nan: bool = False) -> RankScaler:
    """Learn ranks from rows of training data; a column that never changes has rank 0 everywhere.

    Args:
        values: [rows, columns].
        with_nan: Whether rows without a number are to be expected, even if none of these is one.
    """
    return RankScaler(tuple(names), tuple(_knots(values[:, i]) for i in range(len(names))), with_nan)


def _knots(column: NDArray[np.floating[Any]]) -> tuple[float, ...]:
    different = np.unique(column[np.isfinite(column)].astype(np.float64))
    if len(different) > _KNOTS:
        different = np.unique(np.quantile(different, np.linspace(0, 1, _KNOTS)))
    return tuple(float(value) for value in different)


@dataclass(frozen=True)
class TimeScaler:
    """Origin and unit in nanoseconds, or in steps."""

    origin: int
    unit: int
    span: float
    """How many units the training window is long: Time2Vec's slowest frequency."""
    steps: bool = False

    def transform(self, times: NDArray[np.int64], stored_unit: str) -> NDArray[np.float32]:
        """Scale times that are stored in s, us, ns or steps."""
        fine = self._fineness(stored_unit)
        # The difference is taken in whole numbers; the rest is zero unless the store is coarser than the origin.
        whole, rest = divmod(self.origin, fine)
        elapsed = (times - whole).astype(np.float64) - rest / fine
        return (elapsed / (self.unit / fine)).astype(np.float32)

    def transform_spans(self, spans: NDArray[np.int64], stored_unit: str) -> NDArray[np.float32]:
        """Scale lengths of time, which have no origin and keep their digits however late they are."""
        return (spans / self.stored_per_unit(stored_unit)).astype(np.float32)

    def stored_per_unit(self, stored_unit: str) -> float:
        """How many stored times make one unit."""
        return self.unit / self._fineness(stored_unit)

    def _fineness(self, stored_unit: str) -> int:
        if (stored_unit == "step") != self.steps:
            kinds = ("dates", "steps") if self.steps else ("steps", "dates")
            raise ModelError(f"times: the store counts {kinds[0]} and the model {kinds[1]}. Train on such a store.")
        return 1 if self.steps else _NS // UNITS_PER_SECOND[stored_unit]

    def to_json(self) -> dict[str, Any]:
        """As it stands in a model's file."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(content: dict[str, Any]) -> TimeScaler:
        """The scaler of a model's file."""
        return TimeScaler(**content)


def fit_times(first: int, last: int, stored_unit: str, unit_seconds: int = _DAY) -> TimeScaler:
    """The scaler for a training window.

    Args:
        first: The stored time of the window's first event.
        last: The stored time of its last.
        unit_seconds: The unit for calendar times; counters choose their own.
    """
    if stored_unit == "step":
        unit = 1
        while (last - first) / unit > _LONGEST:
            unit *= 10
        return TimeScaler(first, unit, (last - first) / unit, steps=True)
    fine = _NS // UNITS_PER_SECOND[stored_unit]
    unit = unit_seconds * _NS
    return TimeScaler(first * fine, unit, (last - first) * fine / unit)
