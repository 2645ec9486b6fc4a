"""Where tables of scores go: files, objects, or tables of a database. All of a result appears or none of it.

In files, what changed is put in place first and the scores last: whoever finds scores finds their changes.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from gtea.errors import UsageError
from gtea.ingestion.database_address import is_database
from gtea.runtime.files import atomic_write
from gtea.runtime.remote_folder import RemoteFolder, is_address, parse_remote
from gtea.runtime.spreadsheet import spreadsheet_safe
from gtea.scoring.database_output import DatabaseTable

_CHANGES = "changes"
_ROWS_TOGETHER = 1 << 20
"""Rows in a row group of Parquet."""


class TableOutput:
    """The place of a result: scores, and perhaps what changed."""

    def __init__(self, out: str | Path, *, for_spreadsheets: bool = False) -> None:
        """Check a place.

        Args:
            out: A file that ends in .parquet or .csv, its address in an object store, or the address of a database that
                ends in /table.
            for_spreadsheets: Whether ids and classes that look like formulas get a quote in front. Else they are exact.
        """
        self._for_spreadsheets = for_spreadsheets
        self._table = DatabaseTable(out) if isinstance(out, str) and is_database(out) else None
        is_object = isinstance(out, str) and self._table is None and is_address(out)
        self._address = parse_remote(out) if isinstance(out, str) and is_object else None
        self._path = None if self._table is not None else Path(out if self._address is None else self._address.name)
        if self._path is not None and self._path.suffix not in (".parquet", ".csv"):
            raise UsageError(f"--out {self._path.name}: must end in .parquet or .csv. Try scores.parquet.")
        if for_spreadsheets and (self._path is None or self._path.suffix != ".csv"):
            got = self.name if self._path is None else self._path.name
            raise UsageError(f"--spreadsheet-safe: goes with a CSV file only (got {got!r}). Try scores.csv.")
        if self._table is not None:
            self._table.check_reachable()
        if self._address is not None:
            RemoteFolder(self._address.folder).has(self._address.name)  # a place that can't be reached is told now

    @property
    def name(self) -> str:
        """Where the scores go, without a password."""
        return str(self._address or self._path) if self._table is None else self._table.name

    @property
    def changes_name(self) -> str:
        """Where the changes go: ``scores.changes.parquet`` beside ``scores.parquet``, table ``scores_changes``."""
        if self._table is not None:
            return f"{self._table.name}_{_CHANGES}"
        if self._address is not None:
            return f"{self._address.folder}/{self._changes_path.name}"
        return str(self._changes_path)

    @property
    def _changes_path(self) -> Path:
        assert self._path is not None, "a table has no path"
        return self._path.with_name(f"{self._path.stem}.{_CHANGES}{self._path.suffix}")

    def is_file(self, path: Path) -> bool:
        """Whether a file would be replaced by this result."""
        if self._path is None or self._address is not None:
            return False
        return path.resolve() in (self._path.resolve(), self._changes_path.resolve())

    def write(self, scores: pa.Table, changes: pa.Table | None = None) -> None:
        """Write all tables."""
        if self._table is not None:
            self._table.write({"": scores} if changes is None else {"": scores, f"_{_CHANGES}": changes})
            return
        assert self._path is not None, "it is a table or a path"
        files = [(self._path, [scores])] + ([] if changes is None else [(self._changes_path, [changes])])
        self._write_files(files)

    def write_pieces(self, scores: Iterable[pa.Table]) -> None:
        """Write scores that come in pieces to a file. How the rows are divided among them changes no byte of it."""
        assert self._path is not None, "a database takes whole tables"
        self._write_files([(self._path, scores)])

    def _write_files(self, files: Sequence[tuple[Path, Iterable[pa.Table]]]) -> None:
        """All drafts are complete on disk before the first takes its place; the last named takes it first."""
        if self._address is not None:
            self._send_files(files)
            return
        with contextlib.ExitStack() as drafts:
            for path, tables in files:
                self._write_file(drafts.enter_context(atomic_write(path)), path.suffix, tables)

    def _send_files(self, files: Sequence[tuple[Path, Iterable[pa.Table]]]) -> None:
        """The same for objects: each appears at once, and the last named first."""
        assert self._address is not None, "it is a path"
        remote = RemoteFolder(self._address.folder)
        with tempfile.TemporaryDirectory(prefix="gtea-") as folder:
            for path, tables in files:
                with (Path(folder) / path.name).open("wb") as stream:
                    self._write_file(stream, path.suffix, tables)
            for path, _ in reversed(files):
                remote.put(path.name, Path(folder) / path.name)

    def _write_file(self, stream: BinaryIO, suffix: str, tables: Iterable[pa.Table]) -> None:
        with contextlib.ExitStack() as stack:
            writer: Any = None
            for table in _regrouped(tables):
                safe = spreadsheet_safe(table) if self._for_spreadsheets else table
                if writer is None:
                    make = pq.ParquetWriter if suffix == ".parquet" else pacsv.CSVWriter
                    writer = stack.enter_context(make(stream, safe.schema))
                writer.write_table(safe)


def _regrouped(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows, ``_ROWS_TOGETHER`` at a time, each column in one piece. At least one table, if there are any."""
    held, is_first = list[pa.Table](), True
    for table in tables:
        held.append(table)
        while sum(map(len, held)) > _ROWS_TOGETHER:
            together = pa.concat_tables(held)
            yield together.slice(0, _ROWS_TOGETHER).combine_chunks()
            held, is_first = [together.slice(_ROWS_TOGETHER)], False
    if held and (is_first or sum(map(len, held))):
        yield pa.concat_tables(held).combine_chunks()
