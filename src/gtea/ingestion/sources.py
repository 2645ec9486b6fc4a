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
from gtea.ingestion.table_files import CsvLayout, file_format, read_jodie_layout, read_layout
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
    layout: CsvLayout | None = None
    rejects: str | None = None
    """Name of the table with the lines that DuckDB couldn't split into columns (CSV only)."""
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
    if kind == "parquet":
        return _parquet(bench, path)
    if kind == "jodie":
        return _csv(bench, path, read_jodie_layout(path), number)
    return _csv(bench, path, read_layout(path, wanted, delimiter or ("\t" if kind == "tsv" else None)), number)


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
    types = ", ".join(f"'{name}': 'VARCHAR'" for name in names)
    rejects = f"rejects_{number}"
    compression = "gzip" if path.suffix == ".gz" else "none"
    file = literal(str(bench.reachable(path)))
    relation = (
        f"read_csv({file}, auto_detect = false, header = false, skip = {layout.header_lines}, "
        f"columns = {{{types}}}, delim = {literal(layout.delimiter)}, quote = '\"', escape = '\"', "
        f"compression = '{compression}', store_rejects = true, rejects_limit = 0, "
        f"rejects_table = '{rejects}', rejects_scan = '{rejects}_scan')"
    )
    pairs = zip(layout.columns, names, strict=True)
    unique = {column: name for column, name in pairs if layout.columns.count(column) == 1}
    return Source(path.name, dict.fromkeys(unique, "VARCHAR"), unique, relation, path, layout, rejects, _stamp(path))


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns
