"""Reading the moment that a user names as a stored time."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from gtea.errors import UsageError

Instant = int | np.integer[Any] | str | dt.datetime

_MOST_DIGITS = 30

_SECONDS = {
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
    "days": Fraction(86_400),
}

TimeUnit = Literal["auto", "s", "ms", "us", "ns", "days", "step"]

StoredUnit = Literal["s", "us", "ns", "step"]

UNITS_PER_SECOND = {"s": 1, "us": 10**6, "ns": 10**9}
"""How many of a stored calendar unit make a second."""


def parse_instant(moment: Instant, unit: str, input_unit: str) -> int:
    """The smallest stored time that is not before the moment.

    Rounding up keeps the promise at the edge: with times in whole seconds, ``as_of`` half past a second hides
    the next second and shows this one.
    """
    if isinstance(moment, np.integer):  # as grids and frames hold them
        moment = int(moment)
    if isinstance(moment, bool) or not isinstance(moment, int | str | dt.datetime):
        raise UsageError(
            f"as_of: must be a whole number of {unit!r}, a datetime or ISO 8601 text (got {moment!r}). Convert it."
        )
    if isinstance(moment, int):
        return moment
    if isinstance(moment, str):
        try:
            number = decimal.Decimal(moment.strip())
            if not number.is_finite() or number.adjusted() > _MOST_DIGITS:  # 1e999999999 is no moment
                raise ValueError
            return _number(Fraction(number), unit, input_unit)
        except (ValueError, decimal.InvalidOperation):
            moment = _date(moment)
    if unit == "step":
        raise UsageError(f"as_of: this store counts steps, not dates (got {moment}). Give a whole number.")
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    elapsed = zoned - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    micros = (elapsed.days * 86_400 + elapsed.seconds) * 10**6 + elapsed.microseconds
    return math.ceil(Fraction(micros * UNITS_PER_SECOND[unit], 10**6))


def _number(value: Fraction, unit: str, input_unit: str) -> int:
    """A bare number means what it meant in the input; where the input had dates, it is a stored time."""
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
    """A stored time for people: ISO 8601 in UTC, or the bare count for steps and dates beyond the calendar."""
    if unit == "step":
        return str(value)
    per_second = UNITS_PER_SECOND[unit]
    seconds, rest = divmod(value, per_second)
    try:
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)
    except OverflowError:
        return f"the year {seconds // 31_556_952 + 1970}"
    digits = len(str(per_second)) - 1
    fraction = f".{rest:0{digits}d}" if rest else ""
    return f"{moment.isoformat()}{fraction}Z"


def unit_ratio(coarse: str, fine: str) -> int:
    """How many of the finer stored unit make one of the coarser."""
    return 1 if coarse == fine else UNITS_PER_SECOND[fine] // UNITS_PER_SECOND[coarse]


def stored_per_second(stored_unit: str) -> int:
    """How many stored times make a second; a step counts as one."""
    return UNITS_PER_SECOND.get(stored_unit, 1)
