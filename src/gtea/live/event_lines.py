"""Events as lines of text: JSON objects, or CSV with a header. Each line is a record, and a bad one stops no other."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from gtea.errors import DataError
from gtea.live.event_rows import EventReader, EventRow

LineFormat = Literal["auto", "json", "csv"]
_SHOWN = 80


class BadLine(NamedTuple):
    """A line that can't become an event."""

    number: int
    text: str
    reason: str


class EventLines:
    """Reads lines one after the other. The first line decides what ``auto`` means, and is the header of CSV."""

    def __init__(self, reader: EventReader, form: LineFormat = "auto") -> None:
        self._reader, self._format = reader, form
        self._header: list[str] | None = None

    def read(self, lines: Iterable[tuple[int, bytes]]) -> tuple[list[tuple[int, bytes, EventRow]], list[BadLine]]:
        """The events of numbered lines, and the lines that are none. Empty lines are passed over."""
        rows, bad = list[tuple[int, bytes, EventRow]](), list[BadLine]()
        for number, line in lines:
            if not line.strip():
                continue
            try:
                row = self._row(line)
            except (DataError, ValueError, RecursionError, csv.Error) as error:
                reason = (
                    str(error) if isinstance(error, DataError) else f"must be {self._wanted()} (got {_short(line)})"
                )
                bad.append(bad_line(number, line, reason))
            else:
                if row is not None:
                    rows.append((number, line, row))
        return rows, bad

    def _wanted(self) -> str:
        return "a JSON object" if self._format == "json" else "a line of CSV in UTF-8"

    def _row(self, line: bytes) -> EventRow | None:
        """The event of a line; None for a header."""
        if self._format == "auto":
            self._format = "json" if line.lstrip()[:1] in (b"{", b"[") else "csv"
        text = line.decode().removeprefix("\ufeff")
        if self._format == "json":
            record = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_each_once)
            if not isinstance(record, dict):
                raise ValueError
            return self._reader.record(record)
        fields = next(csv.reader([text], strict=True))
        if self._header is None:
            missing = [name for name in self._reader.required if fields.count(name) != 1]
            if missing:
                raise DataError(
                    f"the header must have the columns {', '.join(map(repr, missing))} once (got {_short(line)})"
                )
            self._header = fields
            return None
        if len(fields) != len(self._header):
            raise DataError(f"a line must have {len(self._header)} fields as the header has (got {len(fields)})")
        return self._reader.record({name: value or None for name, value in zip(self._header, fields, strict=True)})


def bad_line(number: int, line: bytes, reason: str) -> BadLine:
    """A bad line, with text that can be written anywhere."""
    return BadLine(number, line.decode(errors="backslashreplace").rstrip("\r\n"), reason)


def _short(line: bytes) -> str:
    text = line.decode(errors="backslashreplace").strip()
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object. Of a name that comes twice, one reader takes the first value and another the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(
            f"column {_short(twice.encode(errors='surrogatepass'))}: must be given once (got it twice). Leave one out."
        )
    return found
