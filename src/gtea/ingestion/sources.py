"""The inputs of an ingest as SQL relations: files, and frames passed in Python.

A source has its column names and types, and the SQL to read it. DuckDB opens the files. Frames are read through the
Arrow stream interface, which pandas, polars, pyarrow and DuckDB all support.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from gtea.errors import DataError, UsageError
from gtea.ingestion.pickles import refuse_pickle
from gtea.ingestion.snap_files import WHOLE_LINES, read_snap_layout, split_lines
from gtea.ingestion.table_files import CsvLayout, RecordLayout, file_format, read_jodie_layout, read_layout
from gtea.ingestion.workbench import Workbench, literal, quoted
from gtea.store.schema import Format


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
    rejects: str | None = None
    """Name of the table with the lines that DuckDB couldn't read (text files only)."""
    keeps_bad_lines: bool = False
    """Whether a line with too few or too many fields is a row: the line in the first column, NULL in the others."""
    stamp: tuple[int, int] = (0, 0)
    """Size and modification time of the file when it was opened. It must not change while it is read."""

    def check_unchanged(self) -> None:
        """Raise an error if the file was changed while it was read."""
        if self.path is not None and _stamp(self.path) != self.stamp:
            raise DataError(f"{self.name}: was changed while it was being read. Run the command again.")

    def digest(self) -> dict[str, Any]:
        """Name, size and sha256 of a file; only the name of a frame."""
        if self.path is None:
            return {"name": self.name}
        with self.path.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        return {"name": self.name, "bytes": self.stamp[0], "sha256": sha256}


def open_file(
    bench: Workbench,
    path: Path,
    *,
    wanted: Sequence[str],
    declared: Format,
    delimiter: str | None,
    number: int,
) -> Source:
    """Make a source of a file. ``number`` makes the names of its helper tables unique."""
    refuse_pickle(path)
    kind = file_format(path, declared)
    match kind:
        case "parquet":
            return _parquet(bench, path)
        case "jodie":
            return _csv(bench, path, read_jodie_layout(path), number)
        case "snap":
            return _snap(bench, path, number)
        case "csv" | "tsv":
            layout = read_layout(path, wanted, delimiter or ("\t" if kind == "tsv" else None))
            return _csv(bench, path, layout, number)


def open_frame(bench: Workbench, frame: object, name: str) -> Source:
    """Make a source of an in-memory frame: anything with ``__arrow_c_stream__``."""
    if not hasattr(frame, "__arrow_c_stream__"):
        raise UsageError(
            f"{type(frame).__name__}: is neither a path nor a frame. "
            "Pass file names, or a pandas, polars, pyarrow or DuckDB frame (anything with __arrow_c_stream__)."
        )
    try:
        reader = pa.RecordBatchReader.from_stream(frame)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        first = str(error).splitlines()[0]
        raise DataError(f"{name}: can't be converted to Arrow ({first}). Give each column a single type.") from error
    bench.register(name, reader)
    return replace(_described(bench, name, quoted(name)), path=None)


def _parquet(bench: Workbench, path: Path) -> Source:
    if path.suffix == ".gz":
        raise DataError(f"{path.name}: a Parquet file must not be gzipped. Unpack it first.")
    described = _described(bench, path.name, f"read_parquet({literal(str(bench.reachable(path)))})")
    return replace(described, path=path, stamp=_stamp(path))


def _described(bench: Workbench, name: str, relation: str) -> Source:
    columns = {row[0]: row[1] for row in bench.rows(f"DESCRIBE SELECT * FROM {relation}")}
    return Source(name, columns, {column: quoted(column) for column in columns}, relation)


def _csv(bench: Workbench, path: Path, layout: CsvLayout, number: int) -> Source:
    # In SQL, columns are named c0, c1, ...: header names may repeat, or differ only in case.
    names = [f"c{i}" for i in range(len(layout.columns))]
    rejects = f"rejects_{number}"
    dialect = f"skip = {layout.header_lines}, delim = {literal(layout.delimiter)}, quote = '\"', escape = '\"'"
    relation = _read_csv(bench, path, names, dialect, rejects)
    pairs = zip(layout.columns, names, strict=True)
    unique = {column: name for column, name in pairs if layout.columns.count(column) == 1}
    return Source(
        path.name, dict.fromkeys(unique, "VARCHAR"), unique, relation, path, layout, rejects, stamp=_stamp(path)
    )


def _snap(bench: Workbench, path: Path, number: int) -> Source:
    layout = read_snap_layout(path)
    rejects = f"rejects_{number}"
    return Source(
        path.name,
        dict.fromkeys(layout.columns, "VARCHAR"),
        {column: f"c{i}" for i, column in enumerate(layout.columns)},
        split_lines(_read_csv(bench, path, ["line"], WHOLE_LINES, rejects)),
        path,
        layout,
        rejects,
        keeps_bad_lines=True,
        stamp=_stamp(path),
    )


def _read_csv(bench: Workbench, path: Path, names: Sequence[str], dialect: str, rejects: str) -> str:
    """SQL that reads a text file into columns of the given names, and its bad lines into table ``rejects``."""
    types = ", ".join(f"'{name}': 'VARCHAR'" for name in names)
    compression = "gzip" if path.suffix == ".gz" else "none"
    return (
        f"read_csv({literal(str(bench.reachable(path)))}, auto_detect = false, header = false, "
        f"columns = {{{types}}}, {dialect}, compression = '{compression}', store_rejects = true, rejects_limit = 0, "
        f"rejects_table = '{rejects}', rejects_scan = '{rejects}_scan')"
    )


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns
