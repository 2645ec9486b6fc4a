"""Stored times as a page shows them: whole seconds or steps, days in words, and the marks of a time axis."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gtea.store.time_units import span_text, stored_per_second

_DAY = 86_400
_YEAR = 31_557_600
_STEPS = tuple(digit * 10**power for power in range(19) for digit in (1, 2, 5))
_SECONDS = (60, 300, 900, 3_600, 10_800, 21_600, 43_200, *(_DAY * n for n in (1, 2, 7, 14, 30, 91, 182, 365, 1826)))
_DECADES = tuple(_YEAR * digit * 10**power for power in range(1, 12) for digit in (1, 2, 5))

_SPANS = (("y", _YEAR), ("d", _DAY), ("h", 3_600), ("min", 60), ("s", 1))


@dataclass(frozen=True)
class Tick:
    """A mark of a time axis."""

    share: float
    """Where it is: 0 at the start of the axis, 1 at its end."""
    text: str


@dataclass(frozen=True)
class Clock:
    """How the times of a store are told."""

    unit: str
    """s, us, ns or step."""

    @property
    def steps(self) -> bool:
        """Whether times are counted, not dated."""
        return self.unit == "step"

    def page_time(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Stored times in whole seconds, or steps: numbers that a script can hold exactly."""
        return np.asarray(times // stored_per_second(self.unit))

    def day(self, time: int) -> str:
        """The day of a page time: 3 May 2024."""
        date = self._date(time)
        return f"step {time:,}" if date is None else f"{date.day} {date:%b} {date.year}"

    def instant(self, time: int) -> str:
        """A page time to the minute, in UTC."""
        date = self._date(time)
        return f"step {time:,}" if date is None else f"{date.day} {date:%B} {date.year} {date:%H:%M} UTC"

    def between(self, first: int, last: int) -> str:
        """Two page times in words, no part said twice: between 12 May and 28 June 2024."""
        dates = self._date(first), self._date(last)
        if dates[0] is None or dates[1] is None:
            return f"between steps {first:,} and {last:,}" if first != last else f"at step {first:,}"
        start, end = dates[0], dates[1]
        if start.date() == end.date():
            return f"on {end.day} {end:%B} {end.year}"
        if (start.year, start.month) == (end.year, end.month):
            joined = "on" if end.day == start.day + 1 else "between"
            return f"{joined} {start.day} and {end.day} {end:%B} {end.year}"
        if start.year == end.year:
            return f"between {start.day} {start:%B} and {end.day} {end:%B} {end.year}"
        return f"between {start.day} {start:%B} {start.year} and {end.day} {end:%B} {end.year}"

    def span(self, length: float) -> str:
        """A length of page time in words."""
        return span_text(round(length), "step" if self.steps else "s")

    def short_span(self, length: float) -> str:
        """The same where there is little room: 36 h."""
        if self.steps:
            return f"{round(length):,} steps"
        unit, size = next((pair for pair in _SPANS if length >= 2 * pair[1]), _SPANS[-1])
        return f"{length / size:,.0f} {unit}"

    def ticks(self, first: float, last: float, most: int = 8) -> list[Tick]:
        """The marks of an axis, few enough to be read."""
        length = last - first
        step = next(size for size in (_STEPS if self.steps else (*_SECONDS, *_DECADES)) if length / size <= most)
        times = range(-(-math.ceil(first) // step) * step, math.ceil(last), step)
        return [Tick((time - first) / length, self._mark(time, step)) for time in times]

    def _mark(self, time: int, step: int) -> str:
        date = self._date(time)
        if date is None:
            return f"{time:,}"
        if step >= 90 * _DAY:
            return f"{date:%b} {date.year}"
        return f"{date.day} {date:%b}" if time % _DAY == 0 or step >= _DAY else f"{date:%H:%M}"

    def _date(self, time: int) -> dt.datetime | None:
        """None for a step, and for a date beyond the calendar."""
        if self.steps:
            return None
        try:
            return dt.datetime(1970, 1, 1) + dt.timedelta(seconds=int(time))
        except OverflowError:
            return None
