"""Plan how a column of times is converted to int64, in a unit fine enough to be lossless.

The input may hold whole numbers, decimals, floats, ISO 8601 text or timestamps. Calendar times are stored as seconds
since 1970-01-01 UTC if all of them are whole seconds, as microseconds if that is exact, and as nanoseconds otherwise.
``step`` is for counters that are not calendar times; they are stored unchanged.

A plan is made in two steps: scan the whole column (type, resolution, first and last time), then build the SQL
expression that converts a value, or yields NULL if it can't be converted.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo
from dataclasses import dataclass
from typing import Any, get_args

from gtea.errors import DataError, UsageError
from gtea.ingestion.time_facts import TimeFact, TimeFacts
from gtea.ingestion.workbench import literal
from gtea.store.schema import Format
from gtea.store.time_units import UNITS_PER_SECOND, StoredUnit, TimeUnit, date_text

END_OF_TIME = 2**63 - 1
"""A view shows the events before its cut. No int64 is after this time, so no view could show an event at it."""

_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1, "days": 86_400 * 10**9}

_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"

_WHOLE = r"^\s*[+-]?\d+(\.0*)?\s*$"

ISO_DATE = (
    r"^\s*(\d{4})-?(\d{2})-?(\d{2})(?:[T ](\d{2}):?(\d{2})(?::?(\d{2}))?(?:[.,](\d+))?\s*"
    r"([Zz]|[+-]\d{2}(?::?\d{2})?)?)?\s*$"
)

# DuckDB's microseconds end in the year 294247.
_FARTHEST = "290000-01-01"

# Before this date, numbers read as seconds are more likely a counter, or times that start at zero.
_LOOKS_LIKE_A_COUNTER = 631_152_000  # 1990-01-01


_INTEGERS |= {f"U{name}" for name in _INTEGERS}


@dataclass(frozen=True)
class TimePlan:
    """How the time column is converted."""

    expression: str
    """SQL: int64 in ``unit``, or NULL if the value is not a time."""
    unit: StoredUnit
    input_unit: TimeUnit
    """The unit of numbers in the input, given or detected. Appends use it and don't detect it again."""
    rounded: int
    """Number of values that were rounded, because a nanosecond or a float is not fine enough."""
    notes: tuple[str, ...]
    reaches_end: bool = False
    """Whether a value becomes END_OF_TIME. To find out which costs another conversion of the column."""


def stated_unit(format: Format, time_unit: TimeUnit, timezone: str) -> TimeUnit:
    """The unit of numbers as stated by the options or the format. Refuses an unknown unit or time zone."""
    if time_unit not in get_args(TimeUnit):
        units = ", ".join(get_args(TimeUnit))
        raise UsageError(f"--time-unit: must be one of {units} (got {time_unit!r}). Try auto.")
    try:
        zoneinfo.ZoneInfo(timezone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, IsADirectoryError) as error:
        raise UsageError(
            f"--timezone: must be a time zone name such as Europe/Paris (got {timezone!r}). Try UTC."
        ) from error
    return "s" if format in ("jodie", "snap") and time_unit == "auto" else time_unit


def plan_times(
    times: TimeFacts,
    kind: str,
    *,
    subject: str,
    time_unit: TimeUnit,
    timezone: str,
    allow_any_date: bool,
    finest: StoredUnit = "s",
) -> TimePlan:
    """Decide how to convert column ``t`` of table ``staged``, of DuckDB type ``kind``, by its facts.

    Args:
        subject: The name of the column in messages.
        timezone: The time zone of dates without one.
        finest: The stored unit is at least this fine, as earlier deliveries of the same data required.
    """
    if time_unit == "step":
        return _plan_steps(times, kind, subject)
    nanos, input_unit, notes = _nanoseconds(times, kind, subject, time_unit, timezone)
    first, last, seconds, micros, rounded = times.ask(
        TimeFact("min", nanos.column),
        TimeFact("max", nanos.column),
        TimeFact("all", nanos.divisible(10**9)),
        TimeFact("all", nanos.divisible(10**3)),
        TimeFact("count", nanos.inexact),
    )
    unit = _coarsest(bool(seconds), bool(micros), finest)
    if first is not None:
        first, last = int(first) * nanos.multiplier, int(last) * nanos.multiplier
        if not allow_any_date:
            _refuse_odd_dates(first, last, subject, input_unit)
        if unit != "s" and not _fits(first, last, unit):
            _refuse_mixed_units(times, nanos, unit, subject)
        notes = (*notes, *_auto_note(time_unit, input_unit, first, last))
    scale = 10**9 // UNITS_PER_SECOND[unit]
    reaches_end = last is not None and last // scale >= END_OF_TIME
    return TimePlan(nanos.counted_in(scale), unit, input_unit, int(rounded), notes, reaches_end)


@dataclass(frozen=True)
class _Nanoseconds:
    """SQL for a time in nanoseconds since 1970: an integer column times a multiplier."""

    column: str
    multiplier: int = 1
    inexact: str = "false"
    """SQL: whether the value had to be rounded."""

    def divisible(self, nanos: int) -> str:
        """SQL: whether the time is a multiple of ``nanos`` nanoseconds."""
        return "true" if self.multiplier % nanos == 0 else f"({self.column}) % {nanos // self.multiplier} = 0"

    def counted_in(self, nanos: int) -> str:
        """SQL: the time as int64 in units of ``nanos`` nanoseconds, or NULL on overflow.

        Seconds from a column of seconds stay BIGINT: 128-bit arithmetic would double the cost of ingest.
        """
        if self.multiplier < nanos:
            return f"TRY_CAST(({self.column}) // {nanos // self.multiplier} AS BIGINT)"
        if self.multiplier == nanos:
            return f"TRY_CAST({self.column} AS BIGINT)"
        return f"TRY_CAST(({self.column})::HUGEINT * {self.multiplier // nanos} AS BIGINT)"


def _fits(first: int, last: int, unit: StoredUnit) -> bool:
    """Whether times given in nanoseconds fit into int64 in a stored unit."""
    nanos = 10**9 // UNITS_PER_SECOND[unit]
    return first // nanos >= -(2**63) and last // nanos < 2**63


def _refuse_mixed_units(times: TimeFacts, nanos: _Nanoseconds, unit: StoredUnit, subject: str) -> None:
    """Refuse a time that fits into int64 in seconds, but not in the unit that another time needs."""
    seconds, units = nanos.counted_in(10**9), nanos.counted_in(10**9 // UNITS_PER_SECOND[unit])
    coarser = 10**9 if unit == "us" else 10**3
    far, fine = times.ask(
        TimeFact("first", f"{seconds} IS NOT NULL AND {units} IS NULL"),
        TimeFact("first", f"NOT ({nanos.divisible(coarser)})"),
    )
    if far is None:
        return
    why = "the unit of the store" if fine is None else f"as {fine!r} needs"
    raise DataError(
        f"{subject}: all times must fit into 64 bits in {unit!r}, {why} (got {far!r}). "
        "Round the times to a coarser unit, or leave out those that are too far away."
    )


def _plan_steps(times: TimeFacts, kind: str, subject: str) -> TimePlan:
    if kind == "VARCHAR":
        expression = (
            f"CASE WHEN regexp_matches(t, '{_WHOLE}') THEN TRY_CAST(TRY_CAST(t AS DECIMAL(38, 9)) AS BIGINT) END"
        )
    elif kind in _INTEGERS:
        expression = "TRY_CAST(t AS BIGINT)"
    elif kind in ("DOUBLE", "FLOAT") or kind.startswith("DECIMAL"):
        expression = "CASE WHEN t = floor(t) THEN TRY_CAST(t AS BIGINT) END"
    else:
        raise UsageError(
            f"{subject}: must hold whole numbers for --time-unit step (got dates of type {kind}). Drop --time-unit."
        )
    (last,) = times.ask(TimeFact("max", expression))
    return TimePlan(expression, "step", "step", 0, (), last is not None and int(last) == END_OF_TIME)


def _nanoseconds(
    times: TimeFacts, kind: str, subject: str, time_unit: TimeUnit, timezone: str
) -> tuple[_Nanoseconds, TimeUnit, tuple[str, ...]]:
    """The conversion for the column's type, the unit of its numbers, and notes for the user."""
    if kind == "VARCHAR":
        is_date = f"regexp_matches(t, '{ISO_DATE}')"
        numbers, dates, naive = times.ask(
            TimeFact("count", f"regexp_matches(t, '{NUMBER}')"),
            TimeFact("count", is_date),
            TimeFact("count", f"{is_date} AND regexp_extract(t, '{ISO_DATE}', 8) = ''"),
        )
        # Eight digits match both patterns. Only other rows can show that the column holds dates.
        if dates > numbers:
            return (
                _Nanoseconds(_iso_sql(timezone), inexact=_iso_inexact()),
                time_unit,
                _zone_note(naive, timezone),
            )
        return _decimal_text(times, time_unit)
    if kind in _INTEGERS:
        unit = _resolved(time_unit, *_extremes(times, "t"))
        return _Nanoseconds("t", _NS[unit]), unit, ()
    if kind.startswith("DECIMAL"):
        unit = _resolved(time_unit, *_extremes(times, "t"))
        return _Nanoseconds(_decimal_sql("TRY_CAST(t AS DECIMAL(38, 9))", unit)), unit, ()
    if kind in ("DOUBLE", "FLOAT"):
        return _floats(times, time_unit)
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        zoned = "TZ" in kind or "WITH TIME ZONE" in kind
        naive = 0 if zoned else 1
        if "NS" not in kind:
            _refuse_far_timestamps(times, kind, subject)
        return _Nanoseconds(_timestamp_sql(kind, timezone, zoned)), time_unit, _zone_note(naive, timezone)
    raise DataError(
        f"{subject}: must hold numbers, ISO 8601 text or timestamps (got type {kind}). Convert the column first."
    )


def _extremes(times: TimeFacts, number: str) -> tuple[Any, Any]:
    """The smallest and the largest of a number, as text."""
    first, last = times.ask(TimeFact("min", number), TimeFact("max", number))
    return first, last


def _resolved(time_unit: TimeUnit, first: object, last: object) -> TimeUnit:
    """The given unit or, for ``auto``, the coarsest unit with which no time is more than a day in the future."""
    if time_unit != "auto":
        return time_unit
    if last is None or first is None:
        return "s"
    largest = int(float(str(last)))
    units: tuple[TimeUnit, ...] = ("s", "ms", "us", "ns")
    return next((unit for unit in units if largest * _NS[unit] <= _a_day_ahead()), "ns")


def _decimal_text(times: TimeFacts, time_unit: TimeUnit) -> tuple[_Nanoseconds, TimeUnit, tuple[str, ...]]:
    number = f"CASE WHEN regexp_matches(t, '{NUMBER}') THEN TRY_CAST(t AS DECIMAL(38, 9)) END"
    unit = _resolved(time_unit, *_extremes(times, number))
    # Digits beyond the nanosecond are lost: count how often.
    places = min(9, len(str(_NS[unit])) - 1)
    inexact = f"coalesce(regexp_matches(t, '\\.\\d{{{places}}}\\d*[1-9]'), false)"
    return _Nanoseconds(_decimal_sql(number, unit), inexact=inexact), unit, ()


def _decimal_sql(number: str, unit: TimeUnit) -> str:
    """Exact nanoseconds of a DECIMAL(38, 9). Whole part and fraction are separate, so that nothing overflows."""
    whole = f"floor({number})::HUGEINT"
    billionths = f"((({number}) - floor({number}))::DECIMAL(10, 9) * 1000000000)::HUGEINT"
    if _NS[unit] >= 10**9:
        return f"({whole} * {_NS[unit]} + {billionths} * {_NS[unit] // 10**9})"
    return f"({whole} * {_NS[unit]} + {billionths} // {10**9 // _NS[unit]})"


def _floats(times: TimeFacts, time_unit: TimeUnit) -> tuple[_Nanoseconds, TimeUnit, tuple[str, ...]]:
    """Floats, rounded to the coarsest scale (seconds, microseconds, nanoseconds) that reproduces them exactly."""
    finite = "CASE WHEN isfinite(t::DOUBLE) THEN t::DOUBLE END"
    unit = _resolved(time_unit, *_extremes(times, finite))
    for scale in (10**9, 10**3, 1):  # whole seconds, microseconds, nanoseconds
        if _NS[unit] < scale:
            continue
        factor = _NS[unit] // scale
        scaled = f"round(({finite}) * {factor}.0)"
        inexact = f"coalesce({scaled} / {factor}.0 <> ({finite}), false)"
        if scale == 1 or times.ask(TimeFact("count", inexact)) == (0,):
            break
    return _Nanoseconds(f"TRY_CAST({scaled} AS HUGEINT)", scale, inexact), unit, ()


def _iso_sql(timezone: str) -> str:
    part = f"regexp_extract(t, '{ISO_DATE}', "
    stamp = (
        f"TRY_CAST({part}1) || '-' || {part}2) || '-' || {part}3) || ' ' || "
        f"coalesce(nullif({part}4), ''), '00') || ':' || coalesce(nullif({part}5), ''), '00') || ':' || "
        f"coalesce(nullif({part}6), ''), '00') AS TIMESTAMP)"
    )
    zone = f"{part}8)"
    offset = (
        f"CASE WHEN {zone} IN ('Z', 'z') THEN 0 ELSE "
        f"(CASE WHEN {zone}[1] = '-' THEN -60 ELSE 60 END) * "
        f"(60 * {zone}[2:3]::INTEGER + coalesce(nullif(replace({zone}[4:], ':', ''), '')::INTEGER, 0)) END"
    )
    seconds = f"CASE WHEN {zone} = '' THEN {_epoch(stamp, timezone)} ELSE epoch({stamp})::HUGEINT - ({offset}) END"
    fraction = f"coalesce(TRY_CAST(rpad({part}7)[1:9], 9, '0') AS HUGEINT), 0)"
    return f"CASE WHEN regexp_matches(t, '{ISO_DATE}') THEN ({seconds}) * 1000000000 + {fraction} END"


def _iso_inexact() -> str:
    return f"coalesce(regexp_matches(regexp_extract(t, '{ISO_DATE}', 7), '^\\d{{9}}\\d*[1-9]'), false)"


def _epoch(stamp: str, timezone: str) -> str:
    """Whole seconds since 1970 of a timestamp without a time zone."""
    local = stamp if timezone == "UTC" else f"timezone({literal(timezone)}, {stamp})"
    return f"epoch({local})::HUGEINT"


def _timestamp_sql(kind: str, timezone: str, zoned: bool) -> str:
    if zoned or timezone == "UTC":
        return "epoch_ns(t)::HUGEINT" if "NS" in kind else "epoch_us(t::TIMESTAMPTZ)::HUGEINT * 1000"
    # The time zone conversion works in microseconds; add the nanoseconds below them afterwards.
    below = "epoch_ns(t) % 1000" if "NS" in kind else "0"
    return f"epoch_us(timezone({literal(timezone)}, t::TIMESTAMP))::HUGEINT * 1000 + {below}"


def _refuse_far_timestamps(times: TimeFacts, kind: str, subject: str) -> None:
    """Refuse timestamps in seconds or milliseconds, and dates, that microseconds can't count.

    DuckDB can neither convert nor print them: it raises an internal error.
    """
    far = f"t NOT BETWEEN '{_FARTHEST} (BC)'::{kind} AND '{_FARTHEST}'::{kind}"
    infinite = f"t IN ('infinity'::{kind}, '-infinity'::{kind})"
    (count,) = times.ask(TimeFact("count", f"{far} AND NOT {infinite}"))
    if count:
        raise DataError(
            f"{subject}: timestamps must be within 290,000 years of the year 0 (got {count:,} that are not). "
            "Check their unit."
        )


def _coarsest(seconds: bool, micros: bool, finest: StoredUnit) -> StoredUnit:
    needed: StoredUnit = "s" if seconds else "us" if micros else "ns"
    return max(needed, finest, key=lambda unit: UNITS_PER_SECOND[unit])


def _a_day_ahead() -> int:
    return int((dt.datetime.now(dt.UTC).timestamp() + 86_400) * 1e9)


def _refuse_odd_dates(first: int, last: int, subject: str, unit: TimeUnit) -> None:
    span = f"{date_text(first, 'ns')} to {date_text(last, 'ns')}"
    how = f" read in {unit!r}" if unit in _NS else ""
    fitting = _resolved("auto", first // _NS[unit], last // _NS[unit]) if unit in _NS else unit
    right = repr(fitting) if fitting != unit else "the right unit"
    remedy = f"Pass --time-unit with {right} (step for a counter), or --allow-any-date if the dates are correct."
    if first < 0:
        raise DataError(f"{subject}{how}: dates must not be before 1970 (got {span}). {remedy}")
    if last > _a_day_ahead():
        raise DataError(f"{subject}{how}: dates must not be more than a day in the future (got {span}). {remedy}")


def _auto_note(requested: TimeUnit, unit: TimeUnit, first: int, last: int) -> tuple[str, ...]:
    if requested != "auto" or unit == "auto":
        return ()
    note = f"time unit detected as {unit!r}: {date_text(first, 'ns')} to {date_text(last, 'ns')}"
    if last < _LOOKS_LIKE_A_COUNTER * 10**9:
        note += "; if this is a counter and not a date, pass --time-unit step"
    return (note,)


def _zone_note(naive: int, timezone: str) -> tuple[str, ...]:
    return (f"dates without a time zone were read as {timezone}",) if naive else ()
