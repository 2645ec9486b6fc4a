"""Load one input into a staged table, and account for every one of its rows.

DuckDB reads the input, and what it read is compared with a count that it had no part in (``Source.scan``). Only if the
two differ, Python's slower parser says which records are malformed. If what is left is still not what DuckDB read,
DuckDB also lost well-formed records, as it does after a misplaced quote, and the input is read with Python's parser.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future
from dataclasses import dataclass, field

from gtea.errors import DataError
from gtea.ingestion.sources import Scan, Source
from gtea.ingestion.workbench import Workbench


@dataclass(frozen=True)
class Loaded:
    """One input in a staged table."""

    source: Source
    start: int
    """The rowid of its first row."""
    rows_in: int
    """The number of its rows or records, staged or malformed."""
    malformed: dict[str, int] = field(default_factory=dict)
    """Reason -> number of records that can't be split into columns. They are not in the table."""


def load(bench: Workbench, table: str, source: Source, scan: Future[Scan], values: str) -> Loaded:
    """Append the rows of a source to a table. ``values`` is the SQL of the table's columns."""
    start = _count(bench, table)
    bench.run("BEGIN")
    _insert(bench, table, source, f"SELECT {values} FROM {source.relation}")
    source.check_unchanged()
    staged = _count(bench, table) - start
    broken = len(source.query.broken) if source.query is not None else 0
    if source.query is not None and source.query.rows != staged + broken:
        raise DataError(
            f"{source.name}: must give as many rows as it sent, {source.query.rows:,} (got {staged + broken:,}). "
            "Run it again."
        )
    expected = staged if source.path is None else scan.result().rows
    if staged == expected:
        bench.run("COMMIT")
        return Loaded(source, start, staged + broken, {"broken_text": broken} if broken else {})
    if source.path is None or source.layout is None:
        raise DataError(
            f"{source.name}: must hold as many rows as its footer says, {expected:,} (got {staged:,}). "
            "Check that the file is complete."
        )
    faults = Counter(record.fault for record in source.layout.records(source.path))
    well_formed = faults.pop("", 0)
    if staged in (well_formed, well_formed + faults.total()):
        # DuckDB reads some records that Python's parser refuses, such as one with a blank after a quote.
        bench.run("COMMIT")
        return Loaded(source, start, well_formed + faults.total(), faults if staged == well_formed else {})
    bench.run("ROLLBACK")
    _insert(bench, table, source, f"SELECT {values} FROM {source.well_formed(bench)}")
    return Loaded(source, start, well_formed + faults.total(), faults)


def _insert(bench: Workbench, table: str, source: Source, rows: str) -> None:
    try:
        bench.run(f"INSERT INTO {table} {rows}", f"reading {source.name}", source=source.name)
    except Exception:
        if source.query is not None and source.query.error is not None:
            raise source.query.error from None  # DuckDB has it in its own words
        raise


def _count(bench: Workbench, table: str) -> int:
    return int(bench.row(f"SELECT count(*) FROM {table}")[0])
