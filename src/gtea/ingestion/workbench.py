"""A sandboxed DuckDB connection for one ingest or append: out of core, with a memory limit.

The connection can open only the declared inputs: ``enable_external_access`` is off from the start, the inputs are in
``allowed_paths``, no extension can be loaded, and the configuration is locked. A crafted CSV file or column name
therefore can't read another file, even if it managed to inject SQL.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import pyarrow as pa

from gtea.errors import DataError, UsageError
from gtea.ingestion.array_writer import NumbersFile
from gtea.runtime.disk_errors import disk_error
from gtea.runtime.progress import Progress, no_progress

# DuckDB's limit covers its own buffers. The rest is for the interpreter and the libraries (150 MB), for batches on
# their way to the files, and for what DuckDB takes beside its buffers. Measured on 5 and 20 M events with text ids
# (benchmarks/bench_ingest.py --text), and on 60 M with integers.
_BESIDE_DUCKDB = 250_000_000
_DUCKDB_SHARE = 0.7

# With less than 100 MB for DuckDB, a sort of text ids can fail, whatever spills.
_SMALLEST_BUDGET = 384_000_000

# Each thread reads, sorts and joins in buffers of its own, and holds a row group of a Parquet file.
_PER_THREAD = 64_000_000

# How many freed bytes each thread may keep before it gives them back. To give back and to ask for them again takes the
# system a twentieth of the processor time of an ingest; so they are few only where memory is short.
_LEAST_KEPT, _MOST_KEPT = 8_000_000, 128_000_000

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30}


UNREADABLE = (OSError, ValueError, pa.ArrowException)
"""What Arrow raises for a damaged Parquet file: also a ValueError, for names that are not UTF-8."""


def parse_memory(text: str) -> int:
    """The number of bytes of a size such as ``4GB`` or ``512MiB``."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?|)B?\s*", text.upper())
    if match is None or match[2] not in _UNITS:
        raise UsageError(f"--memory: must be a size such as 4GB or 512MiB (got {text!r}). Try 4GB.")
    size = int(float(match[1]) * _UNITS[match[2]])
    if size < _SMALLEST_BUDGET:
        raise UsageError(
            f"--memory: must be at least {_SMALLEST_BUDGET // 10**6}MB, of which the libraries take 150 "
            f"(got {text!r}). Try 4GB."
        )
    return size


def quoted(name: str) -> str:
    """A column or table name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A string as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def largest_row_group(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    """The bytes of the largest row group of a Parquet file, which is read as a whole; 0 if it is no Parquet file.

    Not by pyarrow: a damaged statistic of a column ends its process.
    """
    sizes = (
        f"SELECT sum(total_compressed_size) AS size FROM parquet_metadata({literal(str(path))}) GROUP BY row_group_id"
    )
    try:
        found = connection.execute(f"SELECT coalesce(max(size), 0) FROM ({sizes})").fetchone()
    except duckdb.Error:
        return 0
    return int(found[0]) if found else 0


class Workbench:
    """A DuckDB connection in a scratch folder, closed on exit. The caller deletes the folder."""

    def __init__(
        self,
        folder: Path,
        *,
        inputs: Sequence[Path] = (),
        memory: str = "4GB",
        threads: int | None = None,
        progress: Progress = no_progress,
    ) -> None:
        """Open one.

        Args:
            inputs: The files that may be read.
            threads: How many there may be at most; by default as many as there are cores.
        """
        self._progress = progress
        budget = parse_memory(memory)
        self.limit = min(int(budget * _DUCKDB_SHARE), budget - _BESIDE_DUCKDB)
        """Bytes of DuckDB's own buffers. What needs more goes to disk."""
        self._aliases: tempfile.TemporaryDirectory[str] | None = None
        self._reachable = {path: self._alias(path, number) for number, path in enumerate(inputs)}
        self._kept = contextlib.ExitStack()
        self._connection = duckdb.connect(str(folder / "work.duckdb"))
        per_thread = self._need_of_thread(memory)
        (cores,) = self.row("SELECT current_setting('threads')")
        threads = max(1, min(threads or cores, cores, self.limit // per_thread))
        spare = budget - self.limit - _BESIDE_DUCKDB
        kept = max(_LEAST_KEPT, min(_MOST_KEPT, spare // (4 * threads)))
        allowed = ", ".join(literal(str(path)) for path in self._reachable.values())
        for setting in (
            f"SET memory_limit = '{self.limit}B'",
            f"SET threads = {threads}",
            f"SET allocator_flush_threshold = '{kept}B'",
            f"SET allocator_bulk_deallocation_flush_threshold = '{kept}B'",
            f"SET temp_directory = {literal(str(folder / 'spill'))}",
            "SET enable_progress_bar = false",
            "SET autoinstall_known_extensions = false",
            "SET autoload_known_extensions = false",
            "SET TimeZone = 'UTC'",
            "SET python_enable_replacements = false",
            f"SET allowed_paths = [{allowed}]",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        ):
            self._connection.execute(setting)

    def __enter__(self) -> Workbench:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self._kept.close()
        if self._aliases is not None:
            self._aliases.cleanup()

    def keep(self, context: contextlib.AbstractContextManager[Any]) -> Any:
        """Enter a context that an input needs until the workbench is closed."""
        return self._kept.enter_context(context)

    def _need_of_thread(self, memory: str) -> int:
        """The bytes that a thread needs. Refuses a limit that is too small for even one."""
        sizes = ((largest_row_group(self._connection, at), path.name) for path, at in self._reachable.items())
        largest = max(sizes, default=(0, ""))
        needed = _PER_THREAD + largest[0]
        if needed > self.limit:
            least = max(needed + _BESIDE_DUCKDB, int(needed / _DUCKDB_SHARE))
            raise UsageError(
                f"--memory: must be at least {-(-least // 10**6)}MB for {largest[1]}, which has a row group of "
                f"{largest[0] / 1e6:,.0f} MB (got {memory!r}). Pass more, or write the file with smaller row groups."
            )
        return needed

    def reachable(self, path: Path) -> Path:
        """The path under which SQL can open a declared input."""
        return self._reachable[path]

    def _alias(self, path: Path, number: int) -> Path:
        """A path without glob characters: DuckDB expands *, ? and [ in file names, so such a file gets a symlink."""
        if not set("*?[") & set(str(path)):
            return path
        # Created only when needed, because a killed process leaves it behind.
        self._aliases = self._aliases or tempfile.TemporaryDirectory(prefix="gtea-")
        link = Path(self._aliases.name) / str(number)
        link.symlink_to(path)
        return link

    def register(self, name: str, data: pa.Table | pa.RecordBatchReader) -> None:
        """Make Arrow data visible to SQL as a table. Nothing is copied."""
        self._connection.register(name, data)

    def register_files(self, name: str, columns: Mapping[str, NumbersFile]) -> None:
        """Make files of numbers visible to SQL as the columns of a table. It can be read once, and is never held."""
        schema = pa.schema([(column, pa.from_numpy_dtype(file.dtype)) for column, file in columns.items()])
        parts = zip(*(file.parts() for file in columns.values()), strict=True)
        self.register(
            name, pa.RecordBatchReader.from_batches(schema, (pa.record_batch(list(part), schema) for part in parts))
        )

    def run(self, sql: str, stage: str = "", *, source: str = "") -> None:
        """Execute a statement and discard its result.

        Args:
            source: The name of the input that the statement reads, if it reads one: what fails then is its fault.
        """
        with _translated_errors(source), self._polled(stage):
            self._connection.execute(sql)

    def rows(self, sql: str, *, source: str = "") -> list[tuple[Any, ...]]:
        """All rows of a small result. ``source`` is the name of the input that is read, if any."""
        with _translated_errors(source):
            return self._connection.execute(sql).fetchall()

    def row(self, sql: str, *, source: str = "") -> tuple[Any, ...]:
        """The only row of a result. ``source`` is the name of the input that is read, if any."""
        return self.rows(sql, source=source)[0]

    def stream(self, sql: str, stage: str = "", batch_rows: int = 1 << 16) -> Iterator[pa.RecordBatch]:
        """Stream a result in batches, in order, with only a few batches in memory at a time."""
        with _translated_errors():
            with self._polled(stage):
                reader = self._connection.sql(sql).to_arrow_reader(batch_rows)
            yield from reader

    @contextlib.contextmanager
    def _polled(self, stage: str) -> Iterator[None]:
        """Report DuckDB's query progress while the body runs."""
        if not stage:
            yield
            return
        self._progress(stage, 0.0)
        done = threading.Event()

        def poll() -> None:
            while not done.wait(0.25):
                percent = self._connection.query_progress()
                if percent >= 0:
                    self._progress(stage, percent / 100)

        thread = threading.Thread(target=poll, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
        self._progress(stage, 1.0)


def unreadable(source: str, error: BaseException) -> DataError:
    """The error for an input that DuckDB or Arrow can't read."""
    return DataError(f"{source}: can't be read ({_first_line(error)}). Check that the data are complete.")


@contextlib.contextmanager
def _translated_errors(source: str = "") -> Iterator[None]:
    """Convert DuckDB's and Arrow's errors about files and limits to gtea's own.

    Whatever DuckDB raises while it reads an input is an error of that input: for damaged files it uses any of its
    classes, internal errors among them.
    """
    try:
        yield
    except (duckdb.Error, pa.ArrowInvalid) as error:
        # A full disk is not a matter of the input or of --memory. Who made the folder knows what to say.
        if disk_error(error) is not None:
            raise
        match error:
            case duckdb.OutOfMemoryException():
                raise UsageError(
                    f"--memory: too small for this input ({_first_line(error)}). Try a larger size, such as 8GB."
                ) from error
            case duckdb.IOException() | duckdb.InvalidInputException() | duckdb.PermissionException():
                raise unreadable(source or "input", error) from error
            case pa.ArrowInvalid():
                raise unreadable(source or "input", error) from error
            case _ if source:
                raise unreadable(source, error) from error
        raise


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0].rstrip(".")
