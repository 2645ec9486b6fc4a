"""Find, count and report the rows of the input that can't become events.

A row is counted under one reason only, that of the first check that it fails. The same SQL conditions find the bad
rows and leave them out, so the counts and the dropped rows can't differ.
"""

from __future__ import annotations

import csv
import heapq
import io
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gtea.errors import DataError
from gtea.ingestion.source_loading import Loaded
from gtea.ingestion.table_files import LONGEST_RECORD, lines_of_records
from gtea.ingestion.time_plan import END_OF_TIME, TimePlan
from gtea.ingestion.workbench import Workbench, literal
from gtea.runtime.files import atomic_write

BadRows = Literal["error", "skip", "quarantine"]
MAX_ID_BYTES = 1024
_SHOWN = 10
LARGEST_FLOAT32 = 3.4028234663852886e38

RULES = {
    "missing_id": "an account id must not be empty",
    "long_id": f"an account id must not be longer than {MAX_ID_BYTES} bytes",
    "missing_time": "a time must not be empty",
    "bad_time": "a time must be a number or an ISO 8601 date",
    "last_time": f"a time must be less than {END_OF_TIME:,}, the largest cut",
    "bad_feature": "a feature must be a number",
    "non_finite_feature": "a feature must be a finite number within float32",
    "wrong_columns": "a line must have as many columns as the header",
    "wrong_fields": "a line must have three fields: source, target, seconds",
    "broken_line": "a line must be well-formed UTF-8 CSV",
    "broken_text": "text must be UTF-8",
    "long_line": f"a line must not be longer than {LONGEST_RECORD:,} bytes",
}


@dataclass(frozen=True)
class Check:
    """One check of a row: an SQL condition that is true for bad rows, and the column that it checks."""

    reason: str
    column: str
    """Empty if the check is of the whole line."""
    raw: str
    """SQL for the offending value as it is in the input."""
    condition: str


@dataclass(frozen=True)
class BadRow:
    """One row that can't become an event."""

    source: str
    row: int
    column: str
    value: str | None
    reason: str
    record: str

    def message(self) -> str:
        """The row as one line of an error message."""
        where = f"{self.source}, row {self.row}" + (f", column {self.column!r}" if self.column else "")
        value = self.record if not self.column else self.value
        got = "nothing" if value is None else repr(value if len(value) <= 80 else value[:77] + "...")
        return f"{where}: {RULES[self.reason]} (got {got})"

    def cells(self) -> list[str | int | None]:
        """The row as one of the quarantine file."""
        return [self.source, self.row, self.column, self.value, self.reason, self.record]


def line_checks(loaded: Sequence[Loaded]) -> list[Check]:
    """The checks of lines that are staged whole because they don't have the right number of fields."""
    rows = [
        f"rowid BETWEEN {item.start} AND {end - 1}"
        for item, end in zip(loaded, _ends(loaded), strict=True)
        if item.source.keeps_bad_lines
    ]
    return [Check("wrong_fields", "", "src", f"dst IS NULL AND ({' OR '.join(rows)})")] if rows else []


def id_checks(column: str, name: str, kind: str) -> list[Check]:
    """The checks of an account id in staged column ``column``."""
    raw = f"{column}::VARCHAR"
    if kind != "VARCHAR":
        return [Check("missing_id", name, raw, f"{column} IS NULL")]
    return [
        Check("missing_id", name, raw, f"{column} IS NULL OR {column} = ''"),
        Check("long_id", name, raw, f"strlen({column}) > {MAX_ID_BYTES}"),
    ]


def time_checks(name: str, kind: str, times: TimePlan) -> list[Check]:
    """The checks of a time in staged column ``t``."""
    blank = " OR trim(t) = ''" if kind == "VARCHAR" else ""
    checks = [
        Check("missing_time", name, "t::VARCHAR", f"t IS NULL{blank}"),
        Check("bad_time", name, "t::VARCHAR", f"({times.expression}) IS NULL"),
    ]
    if times.reaches_end:
        checks.append(Check("last_time", name, "t::VARCHAR", f"({times.expression}) = {END_OF_TIME}"))
    return checks


def number_checks(column: str, name: str) -> list[Check]:
    """The checks of a feature in staged column ``column``."""
    number = f"TRY_CAST({column} AS DOUBLE)"
    return [
        Check("bad_feature", name, f"{column}::VARCHAR", f"{number} IS NULL"),
        Check(
            "non_finite_feature",
            name,
            f"{column}::VARCHAR",
            f"NOT isfinite({number}) OR abs({number}) > {LARGEST_FLOAT32!r}",
        ),
    ]


def find_bad_rows(bench: Workbench, table: str, checks: Sequence[Check], loaded: Sequence[Loaded]) -> BadRowsFound:
    """Count the bad rows of a staged table, and the malformed records of its inputs."""
    counts: Counter[str] = Counter()
    (bad,) = bench.row(f"SELECT count(*) FILTER (WHERE {_any_bad(checks)}) FROM {table}")
    if bad:
        branches = " ".join(f"WHEN {check.condition} THEN {literal(check.reason)}" for check in checks)
        found = bench.rows(
            f"SELECT reason, count(*) FROM (SELECT CASE {branches} END AS reason FROM {table}) GROUP BY 1"
        )
        counts.update({reason: int(count) for reason, count in found if reason is not None})
    for item in loaded:
        counts.update(item.malformed)
    good = "true" if not bad else f"NOT coalesce({_any_bad(checks)}, true)"
    return BadRowsFound(bench, table, tuple(checks), tuple(loaded), in_order_of_rules(counts), good)


def in_order_of_rules(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts by reason in the order of the rules, whatever the order in which they were found."""
    return {reason: counts[reason] for reason in RULES if counts.get(reason)}


@dataclass(frozen=True)
class BadRowsFound:
    """The bad rows of one table: their counts, the rows themselves, and the SQL condition for good rows."""

    bench: Workbench
    table: str
    checks: tuple[Check, ...]
    loaded: tuple[Loaded, ...]
    counts: dict[str, int]
    good: str

    @property
    def total(self) -> int:
        """Number of bad rows, for all reasons."""
        return sum(self.counts.values())

    def first_messages(self) -> list[str]:
        """The first bad rows as lines of an error message: as many as one shows."""
        return [row.message() for row in itertools.islice(self.each(_SHOWN), _SHOWN)] if self.total else []

    def each(self, limit: int | None = None) -> Iterator[BadRow]:
        """Yield the bad rows by source and row: at most ``limit`` staged and ``limit`` malformed ones per source."""
        for item, end in zip(self.loaded, _ends(self.loaded), strict=True):
            staged = self._staged(item.start, end, limit)
            lines = _lines(item, [int(row) - item.start for row, *_ in staged])
            rows = (
                _staged_row(item.source.name, line, self.checks[number], value, text)
                for line, (_, number, value, text) in zip(lines, staged, strict=True)
            )
            yield from heapq.merge(rows, itertools.islice(_malformed(item), limit), key=lambda row: row.row)

    def _staged(self, start: int, end: int, limit: int | None) -> list[tuple[Any, ...]]:
        """Row, index of the failed check, offending value and complete record of the bad rows that were staged."""
        numbers = " ".join(f"WHEN {check.condition} THEN {i}" for i, check in enumerate(self.checks))
        values = " ".join(f"WHEN {i} THEN {check.raw}" for i, check in enumerate(self.checks))
        return self.bench.rows(f"""
            SELECT row, check_number, CASE check_number {values} END, to_json(columns)
            FROM (SELECT rowid AS row, CASE {numbers} END AS check_number, *, {self.table} AS columns FROM {self.table}
                  WHERE rowid >= {start} AND rowid < {end} AND coalesce({_any_bad(self.checks)}, true))
            ORDER BY row {f"LIMIT {limit}" if limit else ""}""")


def refuse_bad_rows(messages: Sequence[str], total: int) -> None:
    """Raise an error that lists the first ten bad rows, if there are any."""
    if not total:
        return
    shown = list(messages[:_SHOWN])
    if total > len(shown):
        shown.append(f"... and {total - len(shown):,} more")
    raise DataError(
        *shown,
        f"{total:,} bad rows in all. Fix them, or pass --bad-rows skip "
        "(leave them out, counted) or --bad-rows quarantine (also write them to a file).",
    )


def write_quarantine(rows: Iterable[Sequence[Any]], path: Path) -> None:
    """Write the cells of bad rows to a CSV file: the location, the reason, and the record as it was read."""
    with atomic_write(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text)
        writer.writerow(["file", "row", "column", "value", "reason", "record"])
        writer.writerows(rows)
        text.flush()
        text.detach()  # atomic_write closes the stream


def _lines(item: Loaded, records: list[int]) -> list[int]:
    """The line numbers of staged records as an editor shows them. For Parquet, frames and queries, the first is 1."""
    source = item.source
    if source.query is not None:
        return source.query.row_numbers(records)
    if source.layout is None or source.path is None:
        return [record + 1 for record in records]
    found = lines_of_records(source.path, source.layout, records, 0).accepted if records else []
    # If Python and DuckDB ever disagree about what a record is, an approximate number is better than none.
    return [*found, *(record + source.layout.header_lines + 1 for record in records[len(found) :])]


def _malformed(item: Loaded) -> Iterator[BadRow]:
    """The records of an input that can't be split into columns, or are not text."""
    if item.source.query is not None:
        for broken in item.source.query.broken:
            yield BadRow(item.source.name, broken.row, broken.column, broken.value, "broken_text", broken.record)
    if not item.malformed or item.source.layout is None or item.source.path is None:
        return
    for record in item.source.layout.records(item.source.path):
        if record.fault:
            text = record.text.rstrip("\r\n").encode(errors="replace").decode()  # what is not UTF-8 becomes ?
            yield BadRow(item.source.name, record.line, "", None, record.fault, text)


def _ends(loaded: Sequence[Loaded]) -> list[int]:
    """The rowid after the last staged row of each source."""
    return [*(item.start for item in loaded[1:]), 1 << 62]


def _any_bad(checks: Sequence[Check]) -> str:
    return " OR ".join(f"({check.condition})" for check in checks)


def _staged_row(source: str, line: int, check: Check, value: str | None, columns: str) -> BadRow:
    if not check.column:
        return BadRow(source, line, "", None, check.reason, value or "")
    return BadRow(source, line, check.column, value, check.reason, _record(columns))


def _record(columns: str) -> str:
    """The staged columns as a JSON list, in the order of the staged table."""
    return json.dumps(list(json.loads(columns).values()), ensure_ascii=False)
