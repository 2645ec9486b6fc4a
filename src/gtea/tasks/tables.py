"""Small tables read as text: labels, accounts to score, pairs.

Values are never type-converted, because ids must match those of the store exactly. A reader that infers types would
turn account 00123 into account 123.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from gtea.errors import DataError, UsageError
from gtea.ingestion.table_files import (
    CsvLayout,
    file_format,
    find_files,
    lines_of_records,
    read_layout,
    require_columns,
)
from gtea.runtime.frames import frame_reader

Table = str | os.PathLike[str] | object
"""A path to a CSV, TSV (both may be gzipped) or Parquet file, or a frame: anything with ``__arrow_c_stream__``."""

SHOWN = 10
"""How many invalid rows or accounts an error message lists."""


@dataclass(frozen=True)
class TextTable:
    """A table with columns that can be read as text."""

    name: str
    columns: tuple[str, ...]
    values: tuple[pa.ChunkedArray, ...]
    path: Path | None = None
    layout: CsvLayout | None = None

    def __len__(self) -> int:
        return len(self.values[0]) if self.values else 0

    def ids(self, column: str) -> pa.ChunkedArray:
        """Return a column of account ids as text. Integers become decimal strings. Missing ids raise."""
        kind = _plain(self._column(column)).type
        whole = pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0)
        if not (whole or _is_text(kind) or pa.types.is_null(kind)):
            raise DataError(
                f"{self.name}, column {column!r}: account ids must be text or whole numbers (got type {kind}). "
                "Convert the column; floats can't represent all ids above 2^53."
            )
        return self.texts(column)

    def texts(self, column: str) -> pa.ChunkedArray:
        """Return a column as text. Missing, empty and blank values raise an error that names their rows."""
        try:
            texts = _plain(self._column(column)).cast(pa.large_string())
        except pa.ArrowException as error:
            kind = self._column(column).type
            raise DataError(
                f"{self.name}, column {column!r}: must be text or numbers (got type {kind}). Convert the column."
            ) from error
        blank = pc.equal(pc.utf8_trim_whitespace(pc.fill_null(texts, "")), "")
        self.reject_records(np.flatnonzero(np.asarray(blank)), column, "must not be empty (got nothing)", "Fill it in")
        return texts

    def reject_records(self, records: NDArray[np.int64], column: str, rule: str, remedy: str) -> None:
        """Raise an error that lists the first of the given records; do nothing if there are none."""
        if not len(records):
            return
        rows = self.rows(records[:SHOWN])
        shown = [f"{self.name}, row {row}, column {column!r}: {rule}" for row in rows]
        if len(records) > len(rows):
            shown.append(f"... and {len(records) - len(rows):,} more")
        raise DataError(*shown[:-1], f"{shown[-1]}. {remedy}, or drop the row.")

    def rows(self, records: NDArray[np.int64]) -> list[int]:
        """Return the row numbers of records: line numbers in a text file, otherwise counted from 1."""
        if self.path is None or self.layout is None:
            return [int(record) + 1 for record in records]
        return lines_of_records(self.path, self.layout, [int(record) for record in records], 0).accepted

    def _column(self, name: str) -> pa.ChunkedArray:
        require_columns(self.name, (name,), self.columns)
        if self.columns.count(name) > 1:
            raise UsageError(f"{self.name}: has more than one column {name!r}. Rename the duplicates.")
        return self.values[self.columns.index(name)]


def read_table(source: Table, wanted: Sequence[str], kind: str) -> TextTable:
    """Read a file or frame.

    Args:
        source: A path or a frame.
        wanted: Expected column names. They are used to detect the delimiter of a text file.
        kind: The name of a frame in error messages.
    """
    if not isinstance(source, str | os.PathLike):
        return _frame(source, f"{kind} frame")
    files = find_files([source])
    if len(files) > 1:
        raise UsageError(f"{source}: must be one file (got {len(files)}). Pass the path of one file.")
    (path,) = files
    declared = file_format(path, "auto")
    if declared == "parquet":
        return _parquet(path)
    return _csv(path, read_layout(path, wanted, "\t" if declared == "tsv" else None))


def _csv(path: Path, layout: CsvLayout) -> TextTable:
    # Read the header as a record and slice it off: skipping it fails if no record follows.
    names = [f"c{i}" for i in range(len(layout.columns))]
    try:
        table = pyarrow.csv.read_csv(
            str(path),
            read_options=pyarrow.csv.ReadOptions(column_names=names),
            parse_options=pyarrow.csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.large_string())),
        )
    except pa.ArrowInvalid as error:
        rejected = lines_of_records(path, layout, [], 1).rejected
        place = f"{path.name}, row {rejected[0]}" if rejected else path.name
        raise DataError(
            f"{place}: must be well-formed UTF-8 with as many columns as the header, {len(layout.columns)} "
            f"(got {str(error).splitlines()[0]!r}). Fix the line."
        ) from error
    except OSError as error:
        raise DataError(f"{path.name}: can't be read ({error}). Check that the file is whole.") from error
    return TextTable(path.name, layout.columns, tuple(table.slice(1).columns), path, layout)


def _parquet(path: Path) -> TextTable:
    try:
        # Not pq.read_table: it adds a column for every parent folder named key=value.
        with pq.ParquetFile(path) as file:
            table = file.read()
        table.validate(full=True)  # Arrow trusts that text in Parquet is UTF-8
        return TextTable(path.name, tuple(table.column_names), tuple(table.columns), path)
    except (pa.ArrowException, ValueError, OSError) as error:  # ValueError: names that are not UTF-8
        first = str(error).splitlines()[0]
        raise DataError(f"{path.name}: can't be read as Parquet ({first}). Check that the file is whole.") from error


def _frame(frame: Any, name: str) -> TextTable:
    if not hasattr(frame, "__arrow_c_stream__"):
        raise UsageError(
            f"{type(frame).__name__}: is neither a path nor a frame. "
            "Pass a file name, or a pandas, polars, pyarrow or DuckDB frame (anything with __arrow_c_stream__)."
        )
    table = frame_reader(frame, name).read_all()
    # pandas exports the index of a filtered frame as a column.
    names = [column for column in table.column_names if not column.startswith("__index_level_")]
    if not names:
        raise DataError(f"{name}: must have at least one column (got none). Pass the accounts as a column.")
    return TextTable(name, tuple(names), tuple(table.column(column) for column in names))


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decode dictionary-encoded values, and turn NaN into null."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), None, values)
    return values


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
