"""New events from a frame or from single records, under the rules of ``append``.

``append`` reads a delivery with DuckDB, which takes a tenth of a second however small it is. Here a row takes
microseconds. Columns, units, time zone and rules are those of the store's schema. A row that can't become an event is
an error that names it; nothing of the frame is taken then.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import zoneinfo
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gtea.errors import DataError, UsageError
from gtea.ingestion.bad_rows import LARGEST_FLOAT32, MAX_ID_BYTES, RULES
from gtea.ingestion.time_plan import END_OF_TIME, ISO_DATE, NUMBER
from gtea.runtime.frames import frame_reader
from gtea.store.schema import Schema
from gtea.store.time_units import UNITS_PER_SECOND, date_text

_NANOS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1, "days": 86_400 * 10**9}
_SECOND = 10**9
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_ISO, _DIGITS = re.compile(ISO_DATE), re.compile(NUMBER)
_MOST_DIGITS = 40
_SHOWN = 10
JODIE_PREFIXES = {"user_id": "user:", "item_id": "item:"}


class _ExactTime(int):
    """Nanoseconds since 1970, as they are."""


class EventRow(NamedTuple):
    """One event, checked."""

    src: str
    dst: str
    time: int
    """In nanoseconds since 1970 or, if the store counts steps, in steps."""
    features: list[float]
    words: list[str]


class ReadEvents(NamedTuple):
    """Events in the order of arrival."""

    src: list[str]
    dst: list[str]
    time: NDArray[np.int64]
    unit: str
    """The stored unit of the times: that of the store, or the finer one that these events need."""
    features: NDArray[np.float32]
    words: list[list[str]]
    """For each categorical column, the word of each event."""


class EventReader:
    """Reads events for one store."""

    def __init__(self, schema: Schema, *, allow_any_date: bool = False) -> None:
        if schema.min_events_per_edge > 1 or schema.max_degree:
            raise UsageError(
                "live scores: the store must not be filtered (got one made with --min-events-per-edge or --max-degree; "
                "the events it left out can't be counted now). Ingest all files again."
            )
        self._schema, self._columns = schema, schema.columns
        self._zone = zoneinfo.ZoneInfo(schema.timezone)
        self._any_date = allow_any_date
        self._prefix = [
            JODIE_PREFIXES.get(name, "") if schema.format == "jodie" else ""
            for name in (schema.columns.src, schema.columns.dst)
        ]

    @property
    def required(self) -> tuple[str, ...]:
        """The columns that an event must have."""
        return self._columns.all

    def frame(self, frame: Any, unit: str) -> ReadEvents:
        """The events of a frame: pandas, polars, pyarrow, anything with an Arrow stream.

        Args:
            unit: The stored unit of the store.
        """
        if not hasattr(frame, "__arrow_c_stream__"):
            raise UsageError(
                f"events: must be a frame (got {type(frame).__name__}). "
                "Pass a pandas, polars or pyarrow frame with the columns of the store."
            )
        table = frame_reader(frame, "events").read_all()
        for name in self._columns.all:
            if table.column_names.count(name) != 1:
                found = ", ".join(map(repr, table.column_names)) or "none"
                raise DataError(
                    f"events: must have one column {name!r} (got {found}). "
                    "Name the columns as in the file that the store was made from."
                )
        columns = [_values(table.column(name)) for name in self._columns.all]
        rows, faults = list[EventRow](), list[str]()
        for number, values in enumerate(zip(*columns, strict=True), start=1):
            try:
                rows.append(self._row(values))
            except DataError as error:
                faults.append(f"row {number}, {error}")
        if faults:
            more = [f"... and {len(faults) - _SHOWN:,} more"] if len(faults) > _SHOWN else []
            raise DataError(*faults[:_SHOWN], *more, f"{len(faults):,} bad rows in all; no event was taken. Fix them.")
        return self.rows(rows, unit)

    def record(self, record: Mapping[str, Any]) -> EventRow:
        """The event of a mapping from columns to values."""
        for name in self._columns.all:
            if name not in record and name not in self._columns.categorical:
                raise DataError(f"column {name!r}: must be given (got nothing). Add it.")
        return self._row([record.get(name) for name in self._columns.all])

    def rows(self, rows: Sequence[EventRow], unit: str) -> ReadEvents:
        """Checked events together, their times in one stored unit."""
        count = len(rows)
        times, found = [row.time for row in rows], unit
        if unit != "step":
            needed = (
                "s" if all(t % _SECOND == 0 for t in times) else "us" if all(t % 1000 == 0 for t in times) else "ns"
            )
            found = max(unit, needed, key=UNITS_PER_SECOND.__getitem__)
            nanos = _SECOND // UNITS_PER_SECOND[found]
            times = [t // nanos for t in times]
        for t in times:
            if not -END_OF_TIME <= t < END_OF_TIME:
                raise DataError(f"times: must fit into 64 bits in {found!r} (got {t}). Round them to a coarser unit.")
        features = np.array([row.features for row in rows], dtype=np.float32)
        return ReadEvents(
            [row.src for row in rows],
            [row.dst for row in rows],
            np.array(times, dtype=np.int64),
            found,
            features.reshape(count, len(self._columns.features)),
            [[row.words[i] for row in rows] for i in range(len(self._columns.categorical))],
        )

    def _row(self, values: Sequence[Any]) -> EventRow:
        names, numbers = self._columns, len(self._columns.features)
        return EventRow(
            self._prefix[0] + _account(names.src, values[0]),
            self._prefix[1] + _account(names.dst, values[1]),
            self._time(values[2]),
            [_feature(name, value) for name, value in zip(names.features, values[3 : 3 + numbers], strict=True)],
            [_word(value) for value in values[3 + numbers :]],
        )

    def _time(self, value: Any) -> int:
        name = self._columns.time
        if value is None or (isinstance(value, str) and not value.strip()):
            raise _bad("missing_time", name, value)
        steps = self._schema.time_unit == "step"
        try:
            time = _whole(value) if steps else self._nanoseconds(value)
        except (ValueError, OverflowError, InvalidOperation, TypeError):
            time = None
        if time is None:
            raise _bad("bad_time", name, value)
        if steps:
            if not -END_OF_TIME <= time < END_OF_TIME:
                raise _bad("last_time", name, value)
        elif not self._any_date:
            self._refuse_odd_date(time)
        return time

    def _nanoseconds(self, value: Any) -> int | None:
        """Nanoseconds since 1970. None if the value is no time."""
        if isinstance(value, _ExactTime):
            return int(value)
        if isinstance(value, np.datetime64):
            local = int(value.astype("datetime64[ns]").astype(np.int64))
            return local if self._zone.key == "UTC" else self._of_date(_date_of(local // 1000 * 1000)) + local % 1000
        if isinstance(value, dt.datetime):
            return self._of_date(value)
        if isinstance(value, dt.date):
            return self._of_date(dt.datetime(value.year, value.month, value.day))
        if isinstance(value, str):
            if not _DIGITS.match(value) or self._schema.time_unit == "auto":
                return self._of_text(value)
            if len(value) > _MOST_DIGITS:
                return None
            value = Decimal(value.strip())
        unit = self._schema.time_unit
        if unit == "auto" or isinstance(value, bool):
            return None
        if isinstance(value, int):
            return value * _NANOS[unit]
        if isinstance(value, float):
            return _of_float(value, _NANOS[unit])
        return math.floor(Fraction(value) * _NANOS[unit]) if isinstance(value, Decimal) else None

    def _of_text(self, text: str) -> int | None:
        found = _ISO.match(text)
        if found is None:
            return None
        year, month, day, hour, minute, second, fraction, zone = found.groups()
        nanos = int((fraction or "")[:9].ljust(9, "0"))
        seconds = int(second or 0)
        date = dt.datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), min(seconds, 59))
        if zone:
            shift = 0 if zone in "Zz" else int(zone[1:3]) * 60 + int(zone[3:].replace(":", "") or 0)
            offset = dt.timedelta(minutes=-shift if zone[0] == "-" else shift)
            date = date.replace(tzinfo=dt.timezone(offset))
        return self._of_date(date) + nanos if seconds < 60 else None

    def _of_date(self, date: dt.datetime) -> int:
        zoned = date if date.tzinfo else date.replace(tzinfo=self._zone)
        elapsed = zoned.astimezone(dt.UTC) - _EPOCH
        return ((elapsed.days * 86_400 + elapsed.seconds) * 10**6 + elapsed.microseconds) * 1000

    def _refuse_odd_date(self, nanos: int) -> None:
        ahead = int((dt.datetime.now(dt.UTC).timestamp() + 86_400) * _SECOND)
        if not 0 <= nanos <= ahead:
            date = date_text(nanos, "ns")
            raise DataError(
                f"column {self._columns.time!r}: a date must be between 1970 and tomorrow (got {date}). "
                "Allow any date if it is right."
            )


def _values(column: pa.ChunkedArray) -> Iterable[Any]:
    """The values of a column as Python objects. Nanoseconds stay what they are: datetime has none."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _values(column.cast(kind.value_type))
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        values = [None if np.isnat(value) else value for value in column.to_numpy()]
        if kind.tz is None:
            return values
        return [None if value is None else _ExactTime(value.astype(np.int64)) for value in values]
    found: list[Any] = column.to_pylist()
    return found


def _date_of(nanos: int) -> dt.datetime:
    return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=nanos // 1000)


def _account(name: str, value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return str(int(value))
    if value is None or value == "":
        raise _bad("missing_id", name, value)
    if not isinstance(value, str):
        raise DataError(f"column {name!r}: account ids must be text or whole numbers (got {value!r}). Convert it.")
    if len(value.encode(errors="surrogatepass")) > MAX_ID_BYTES:
        raise _bad("long_id", name, value)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _bad("broken_line", name, value) from error
    return value


def _feature(name: str, value: Any) -> float:
    try:
        number = float(value) if not isinstance(value, str) or _DIGITS.match(value) else float(value.strip())
    except (TypeError, ValueError, OverflowError) as error:
        raise _bad("bad_feature", name, value) from error
    if not abs(number) <= LARGEST_FLOAT32:
        raise _bad("non_finite_feature", name, value)
    return number


def _word(value: Any) -> str:
    """A word of a categorical column, as DuckDB writes it. A missing one is the empty string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value).encode(errors="replace").decode()


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        value = Decimal(value.strip()) if len(value) <= _MOST_DIGITS and _DIGITS.match(value) else None
    if value is None or isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    return int(value) if value == int(value) else None


def _of_float(value: float, nanos: int) -> int | None:
    """Nanoseconds of a float: by the coarsest of seconds, microseconds and nanoseconds that reproduces it."""
    if not math.isfinite(value):
        return None
    for scale in (_SECOND, 1000, 1):
        factor = nanos // scale
        if factor and (round(value * factor) / factor == value or scale == 1):
            return round(value * factor) * scale
    return None


def _bad(reason: str, name: str, value: Any) -> DataError:
    shown = "nothing" if value is None else repr(value)
    return DataError(f"column {name!r}: {RULES[reason]} (got {shown if len(shown) <= 80 else shown[:77] + '...'})")
