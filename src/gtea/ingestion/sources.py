"""The inputs of an ingest as SQL relations: files, queries, and frames passed in Python.

A source has its column names and types, and the SQL to read it. DuckDB opens the files. Frames are read through the
Arrow stream interface, which pandas, polars, pyarrow and DuckDB all support.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gtea.errors import DataError, UsageError
from gtea.ingestion.database_connection import connected
from gtea.ingestion.numbered_events import NumberedEvents
from gtea.ingestion.pickles import refuse_pickle
from gtea.ingestion.query_result import DatabaseQuery, QueryRows
from gtea.ingestion.snap_files import WHOLE_LINES, read_snap_layout, split_lines
from gtea.ingestion.table_files import CsvLayout, Record, RecordLayout, file_format, read_jodie_layout, read_layout
from gtea.ingestion.workbench import UNREADABLE, Workbench, literal, quoted, unreadable
from gtea.runtime.frames import frame_reader
from gtea.store.schema import Format

_BLOCK_BYTES = 1 << 20
_BATCH_ROWS = 1 << 14


@dataclass(frozen=True)
class Source:
    """One input as an SQL relation."""

    name: str
    columns: dict[str, str]
    """Column name -> DuckDB type. All columns of a CSV file are VARCHAR; gtea converts them later."""
    expressions: dict[str, str]
    """Column name -> the SQL expression that selects it from ``relation``."""
    relation: str
    path: Path | None = None
    layout: RecordLayout | None = None
    keeps_bad_lines: bool = False
    """Whether a line with too few or too many fields is a row: the line in the first column, NULL in the others."""
    stamp: tuple[int, int] = (0, 0)
    """Size and modification time of the file when it was opened. It must not change while it is read."""
    rows: int | None = None
    """The number of rows, if a Parquet file states it."""
    query: QueryRows | None = None
    """The rows of a query, if it is one."""
    numbered: NumberedEvents | None = None
    """The events of a log, if they are such."""

    def check_unchanged(self) -> None:
        """Raise an error if the file was changed while it was read."""
        if self.path is not None and _stamp(self.path) != self.stamp:
            raise DataError(f"{self.name}: was changed while it was being read. Run the command again.")

    def scan(self) -> Scan:
        """Hash a file and count its rows, without DuckDB."""
        if self.path is None:
            return Scan({"name": self.name}, None)
        sha256 = hashlib.sha256()
        counter = self.layout.counter() if self.layout else None
        packed = self.path.suffix == ".gz"
        for number, block in enumerate(_blocks(self.path, self.name, packed=False)):
            sha256.update(block)
            if counter and not packed:
                counter.add(block, first=number == 0)
        if counter and packed:
            for number, block in enumerate(_blocks(self.path, self.name, packed=True)):
                counter.add(block, first=number == 0)
        described = {"name": self.name, "bytes": self.stamp[0], "sha256": sha256.hexdigest()}
        if counter is None or self.layout is None:
            return Scan(described, self.rows)
        counter.finish()
        return Scan(described, counter.records - self.layout.header_records if counter.exact else None)

    def described(self, scan: Scan) -> dict[str, Any]:
        """For the manifest, once it was read: what can be said of its origin."""
        if self.numbered is not None:
            return self.numbered.described()
        return scan.described if self.query is None else self.query.described()

    def well_formed(self, bench: Workbench) -> str:
        """A relation like ``relation``, but of the records that Python's parser finds."""
        assert self.path is not None, "a frame has no records"
        assert self.layout is not None, "a Parquet file has no records"
        name = f"well formed {self.path}"
        width = 1 if self.keeps_bad_lines else len(self.layout.columns)
        bench.register(name, _arrow(self.layout.records(self.path), width))
        return split_lines(quoted(name)) if self.keeps_bad_lines else quoted(name)


@dataclass(frozen=True)
class Scan:
    """What the bytes of an input tell."""

    described: dict[str, Any]
    """Name, size and sha256 of a file; only the name of a frame."""
    rows: int | None
    """The number of rows; None for a frame, and for a text file with quotes where they don't belong."""


def open_file(
    bench: Workbench,
    path: Path,
    *,
    wanted: Sequence[str],
    declared: Format,
    delimiter: str | None,
) -> Source:
    """Make a source of a file."""
    refuse_pickle(path)
    kind = file_format(path, declared)
    match kind:
        case "parquet":
            return _parquet(bench, path)
        case "jodie":
            return _csv(bench, path, read_jodie_layout(path))
        case "snap":
            return _snap(bench, path)
        case "csv" | "tsv":
            layout = read_layout(path, wanted, delimiter or ("\t" if kind == "tsv" else None))
            return _csv(bench, path, layout)


def open_frame(bench: Workbench, frame: object, name: str) -> Source:
    """Make a source of an in-memory frame: anything with ``__arrow_c_stream__``."""
    if not hasattr(frame, "__arrow_c_stream__"):
        raise UsageError(
            f"{type(frame).__name__}: is neither a path nor a frame. "
            "Pass file names, or a pandas, polars, pyarrow or DuckDB frame (anything with __arrow_c_stream__)."
        )
    bench.register(name, frame_reader(frame, name))
    return replace(_described(bench, name, quoted(name)), path=None)


def open_query(bench: Workbench, given: DatabaseQuery, wanted: Sequence[str]) -> Source:
    """Make a source of a query. The connection stays open as long as the workbench."""
    rows = QueryRows(given)
    reader = rows.reader(bench.keep(connected(rows.address)), wanted)
    bench.register(rows.name, reader)
    return replace(_described(bench, rows.name, quoted(rows.name)), query=rows)


def file_digest(path: Path) -> str:
    """The sha256 of a file, as its source is described with."""
    sha256 = hashlib.sha256()
    for block in _blocks(path, path.name, packed=False):
        sha256.update(block)
    return sha256.hexdigest()


def _parquet(bench: Workbench, path: Path) -> Source:
    if path.suffix == ".gz":
        raise DataError(f"{path.name}: a Parquet file must not be gzipped. Unpack it first.")
    try:
        rows = pq.read_metadata(path).num_rows
    except UNREADABLE as error:
        raise unreadable(path.name, error) from error
    described = _described(bench, path.name, f"read_parquet({literal(str(bench.reachable(path)))})")
    return replace(described, path=path, stamp=_stamp(path), rows=rows)


def _described(bench: Workbench, name: str, relation: str) -> Source:
    columns = {row[0]: row[1] for row in bench.rows(f"DESCRIBE SELECT * FROM {relation}", source=name)}
    return Source(name, columns, {column: quoted(column) for column in columns}, relation)


def _csv(bench: Workbench, path: Path, layout: CsvLayout) -> Source:
    # In SQL, columns are named c0, c1, ...: header names may repeat, or differ only in case.
    names = [f"c{i}" for i in range(len(layout.columns))]
    dialect = f"skip = {layout.header_lines}, delim = {literal(layout.delimiter)}, quote = '\"', escape = '\"'"
    relation = _read_csv(bench, path, names, dialect)
    pairs = zip(layout.columns, names, strict=True)
    unique = {column: name for column, name in pairs if layout.columns.count(column) == 1}
    return Source(path.name, dict.fromkeys(unique, "VARCHAR"), unique, relation, path, layout, stamp=_stamp(path))


def _snap(bench: Workbench, path: Path) -> Source:
    layout = read_snap_layout(path)
    return Source(
        path.name,
        dict.fromkeys(layout.columns, "VARCHAR"),
        {column: f"c{i}" for i, column in enumerate(layout.columns)},
        split_lines(_read_csv(bench, path, ["c0"], WHOLE_LINES)),
        path,
        layout,
        keeps_bad_lines=True,
        stamp=_stamp(path),
    )


def _read_csv(bench: Workbench, path: Path, names: Sequence[str], dialect: str) -> str:
    """SQL that reads a text file into columns of the given names. DuckDB leaves out what it can't read.

    It could also note that in a table, but for a line of 60 kB of commas that takes 12 s and 1 GB.
    """
    types = ", ".join(f"'{name}': 'VARCHAR'" for name in names)
    compression = "gzip" if path.suffix == ".gz" else "none"
    return (
        f"read_csv({literal(str(bench.reachable(path)))}, auto_detect = false, header = false, "
        f"columns = {{{types}}}, {dialect}, compression = '{compression}', ignore_errors = true)"
    )


def _arrow(records: Iterator[Record], width: int) -> pa.RecordBatchReader:
    """The well-formed records as text columns c0, c1, ...; an empty field is NULL, as DuckDB reads it."""
    schema = pa.schema([(f"c{i}", pa.string()) for i in range(width)])
    fields = (record.fields for record in records if not record.fault)

    def batches() -> Iterator[pa.RecordBatch]:
        while rows := list(itertools.islice(fields, _BATCH_ROWS)):
            columns = [pa.array([value or None for value in column], pa.string()) for column in zip(*rows, strict=True)]
            yield pa.record_batch(columns, schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _blocks(path: Path, name: str, *, packed: bool) -> Iterator[bytes]:
    try:
        with gzip.open(path) if packed else path.open("rb") as stream:
            while block := stream.read(_BLOCK_BYTES):
                yield block
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{name}: can't be read ({error}). Check that the file is complete.") from error


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns
