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
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gtea.errors import DataError, UsageError
from gtea.runtime.disk_errors import disk_error
from gtea.runtime.progress import Progress, no_progress

# DuckDB's limit covers its own buffers. The rest of the budget is for Arrow batches in flight and the
# interpreter; the share was measured on 60 M events (benchmarks/bench_ingest.py).
_DUCKDB_SHARE = 0.7

_SMALLEST_BUDGET = 256 * 2**20

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
        raise UsageError(f"--memory: must be at least 256MiB (got {text!r}). Try 4GB.")
    return size


def quoted(name: str) -> str:
    """A column or table name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A string as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def zero_copy(array: NDArray[Any]) -> pa.Array:
    """A NumPy array, in memory or mapped, as an Arrow array. Nothing is copied."""
    kind = pa.from_numpy_dtype(array.dtype)
    return pa.Array.from_buffers(kind, len(array), [None, pa.py_buffer(np.ascontiguousarray(array))])


class Workbench:
    """A DuckDB connection in a scratch folder, closed on exit. The caller deletes the folder."""

    def __init__(
        self,
        folder: Path,
        *,
        inputs: Sequence[Path] = (),
        memory: str = "4GB",
        progress: Progress = no_progress,
    ) -> None:
        self._progress = progress
        self.limit = int(parse_memory(memory) * _DUCKDB_SHARE)
        """Bytes of DuckDB's own buffers. What needs more goes to disk."""
        self._aliases: tempfile.TemporaryDirectory[str] | None = None
        self._reachable = {path: self._alias(path, number) for number, path in enumerate(inputs)}
        self._kept = contextlib.ExitStack()
        self._connection = duckdb.connect(str(folder / "work.duckdb"))
        allowed = ", ".join(literal(str(path)) for path in self._reachable.values())
        for setting in (
            f"SET memory_limit = '{self.limit}B'",
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

    def stream(self, sql: str, stage: str = "", batch_rows: int = 1 << 19) -> Iterator[pa.RecordBatch]:
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
