"""Stored times made fit for a network: (t - origin) / unit, computed in float64 and only then cast to float32.

Unix seconds cast straight to float32 step by 128 s. The origin is the first event of the training window and the
unit a day, or for counters the power of ten that makes the window at most 10,000 units long. Both are kept in
nanoseconds, not in the store's unit: the same model then reads a store that has been appended to since, and whose
times have become finer.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import ModelError
from gtea.store.time_units import UNITS_PER_SECOND

_NS = 10**9

_DAY = 86_400

_LONGEST = 10_000


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
