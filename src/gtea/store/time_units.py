"""Time units: stored times, and instants given by the user.

Times are stored as int64 counts of a unit: seconds, microseconds or nanoseconds since 1970-01-01 UTC, or steps of a
counter. ``parse_instant`` converts an instant that the user gives (a number, a date or a datetime) to a stored time.
``date_text``, ``span_text``, ``unit_ratio`` and ``stored_per_second`` format and convert stored times.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from gtea.errors import UsageError

Instant = int | np.integer[Any] | str | dt.datetime
"""A stored time, a datetime, or text with a number or an ISO 8601 date."""

_MAX_EXPONENT = 30

_SECONDS = {
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
    "days": Fraction(86_400),
}

TimeUnit = Literal["auto", "s", "ms", "us", "ns", "days", "step"]
"""The unit of times in the input."""

StoredUnit = Literal["s", "us", "ns", "step"]
"""The unit of times in the store."""

UNITS_PER_SECOND = {"s": 1, "us": 10**6, "ns": 10**9}
"""How many units are in a second, for each stored calendar unit."""


def parse_instant(instant: Instant, unit: str, input_unit: str) -> int:
    """The smallest stored time that is not before the instant.

    Rounding up makes the cut exact. With times in whole seconds, a cut half a second after second s still shows the
    events of second s and hides those of the next one.
    """
    if isinstance(instant, np.integer):  # from arrays, frames and parameter grids
        instant = int(instant)
    if isinstance(instant, bool) or not isinstance(instant, int | str | dt.datetime):
        raise UsageError(
            f"as_of: must be a whole number of {unit!r}, a datetime or ISO 8601 text (got {instant!r}). Convert it."
        )
    if isinstance(instant, int):
        return instant
    if isinstance(instant, str):
        try:
            number = decimal.Decimal(instant.strip())
            # 1e999999999 and 1e-999999999 are not times, and exact arithmetic on them would exhaust memory.
            if not number.is_finite() or max(number.adjusted(), -int(number.as_tuple().exponent)) > _MAX_EXPONENT:
                raise ValueError
            return _number(Fraction(number), unit, input_unit)
        except (ValueError, decimal.InvalidOperation):
            instant = _date(instant)
    if unit == "step":
        raise UsageError(f"as_of: this store counts steps, not dates (got {instant}). Give a whole number.")
    zoned = instant if instant.tzinfo else instant.replace(tzinfo=dt.UTC)
    elapsed = zoned - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    micros = (elapsed.days * 86_400 + elapsed.seconds) * 10**6 + elapsed.microseconds
    return math.ceil(Fraction(micros * UNITS_PER_SECOND[unit], 10**6))


def _number(value: Fraction, unit: str, input_unit: str) -> int:
    """A bare number is in the unit of the input. If the input had dates, it is a stored time."""
    if unit == "step" or input_unit not in _SECONDS:
        return math.ceil(value)
    return math.ceil(value * _SECONDS[input_unit] * UNITS_PER_SECOND[unit])


def _date(text: str) -> dt.datetime:
    try:
        return dt.datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise UsageError(
            f"as_of: must be a number or an ISO 8601 date (got {text!r}). Try 2024-01-31 or 2024-01-31T12:00:00Z."
        ) from error


def date_text(value: int, unit: str) -> str:
    """A stored time as text: ISO 8601 in UTC, the count itself for steps, the year for dates beyond the calendar."""
    if unit == "step":
        return str(value)
    per_second = UNITS_PER_SECOND[unit]
    seconds, rest = divmod(value, per_second)
    try:
        date = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)
    except OverflowError:
        year = seconds // 31_556_952 + 1970
        return f"the year {max(year, dt.MAXYEAR + 1) if seconds > 0 else min(year, dt.MINYEAR - 1)}"
    digits = len(str(per_second)) - 1
    fraction = f".{rest:0{digits}d}" if rest else ""
    return f"{date.isoformat()}{fraction}Z"


_SPANS = (("years", 365.25 * 86_400), ("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0), ("seconds", 1.0))


def span_text(length: int, unit: str) -> str:
    """The time between two stored times as text, in the largest unit of which it has at least two: 12 minutes."""
    if unit == "step":
        return f"{length:,} step{'' if length == 1 else 's'}"
    seconds = length / UNITS_PER_SECOND[unit]
    for name, size in _SPANS:
        if seconds >= 2 * size:
            count = seconds / size
            return f"{count:,.0f} {name}" if count >= 10 else f"{count:.2g} {name}"
    return f"{seconds:.2g} second{'' if seconds == 1 else 's'}"


def unit_ratio(coarse: str, fine: str) -> int:
    """How many of the finer stored unit are in one of the coarser."""
    return 1 if coarse == fine else UNITS_PER_SECOND[fine] // UNITS_PER_SECOND[coarse]


def stored_per_second(stored_unit: str) -> int:
    """How many of a stored unit are in a second. A step counts as a second."""
    return UNITS_PER_SECOND.get(stored_unit, 1)
