"""Write the raw array files of a version sequentially, and hash them while writing."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gtea.store.layout import DTYPES, STRING_TABLE
from gtea.store.strings import StringTable

_T = TypeVar("_T")

# Bytes that wait to be written: enough to keep the thread busy, few enough to bound memory.
_MAX_PENDING = 16 << 20

_PART_ROWS = 1 << 18


class ArrayWriter:
    """Appends rows to one raw little-endian array file. The folder's background thread hashes and writes."""

    def __init__(self, path: Path, dtype: str, width: int | None, worker: _WriterThread, *, durable: bool) -> None:
        self.length = 0
        self._durable = durable
        self._dtype = np.dtype(dtype)
        self._width = width
        self._path = path
        self._worker = worker
        self._hash = hashlib.sha256()
        self._stream = path.open("xb")

    def write(self, rows: NDArray[Any]) -> None:
        """Append rows, converted to the file's dtype. The caller must not modify them afterwards."""
        block = np.ascontiguousarray(rows, dtype=self._dtype)
        self.length += len(block)
        self._worker.do(self._append, block, size=block.nbytes)

    def close(self) -> Future[dict[str, Any]]:
        """Flush the file to disk. The result describes the file for the manifest."""
        return self._worker.do(self._finish)

    def abandon(self) -> None:
        """Close the file without finishing it."""
        self._stream.close()

    def _append(self, block: NDArray[Any]) -> None:
        data = block.reshape(-1).view(np.uint8).data
        self._hash.update(data)
        self._stream.write(data)

    def _finish(self) -> dict[str, Any]:
        self._stream.flush()
        if self._durable:
            os.fsync(self._stream.fileno())
        size = self._stream.tell()
        self._stream.close()
        shape = [self.length] if self._width is None else [self.length, self._width]
        described = {"file": self._path.name, "dtype": self._dtype.str, "shape": shape}
        return {**described, "bytes": size, "sha256": self._hash.hexdigest()}


class _WriterThread:
    """One background thread that runs tasks in order, with a bounded queue."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._pending: deque[tuple[Future[Any], int]] = deque()
        self._bytes = 0

    def do(self, work: Callable[..., _T], *arguments: Any, size: int = 0) -> Future[_T]:
        """Submit a task, with the bytes that it holds until it is done. Raises the exception of one that failed."""
        while self._pending and (self._pending[0][0].done() or self._bytes + size > _MAX_PENDING):
            earlier, its_size = self._pending.popleft()
            earlier.result()
            self._bytes -= its_size
        future = self._pool.submit(work, *arguments)
        self._pending.append((future, size))
        self._bytes += size
        return future

    def stop(self) -> None:
        """Finish the running task and cancel the others."""
        self._pool.shutdown(cancel_futures=True)


class ArrayFolder:
    """The folder in which a version's arrays are being written."""

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        """Make the folder.

        Args:
            durable: Whether arrays are on disk when they are closed. Scratch files need not be.
        """
        self.folder = folder
        self._durable = durable
        self._worker = _WriterThread()
        self._open: dict[str, ArrayWriter] = {}
        self._closed: dict[str, Future[dict[str, Any]]] = {}
        self._writers: list[ArrayWriter] = []
        folder.mkdir()

    def open(self, name: str, width: int | None = None) -> ArrayWriter:
        """Start an array. ``width`` is the length of a row, or None for a one-dimensional array."""
        suffix = next((suffix for suffix in STRING_TABLE if name.endswith(suffix) and name not in DTYPES), "")
        dtype = STRING_TABLE[suffix] if suffix else DTYPES[name]
        writer = ArrayWriter(self.folder / f"{name}.bin", dtype, width, self._worker, durable=self._durable)
        self._writers.append(writer)
        self._open[name] = writer
        return writer

    def write(self, name: str, rows: NDArray[Any]) -> None:
        """Write a whole array."""
        self.open(name, rows.shape[1] if rows.ndim == 2 else None).write(rows)

    def write_strings(self, name: str, table: StringTable) -> None:
        """Write a string table."""
        self.write(f"{name}_offset", table.offsets)
        self.write(f"{name}_bytes", table.data)

    def finish_open(self) -> None:
        """Start flushing the arrays written so far to disk, in the background."""
        for name in tuple(self._open):
            self._closed[name] = self._open.pop(name).close()

    def file(self, name: str) -> NumbersFile:
        """The file of an array that has been finished."""
        described = self._closed[name].result()
        return NumbersFile(self.folder / described["file"], np.dtype(described["dtype"]))

    def close(self) -> dict[str, dict[str, Any]]:
        """Flush all arrays to disk and describe them for the manifest."""
        self.finish_open()
        return {name: described.result() for name, described in sorted(self._closed.items())}

    def __enter__(self) -> ArrayFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._worker.stop()
        for writer in self._writers:  # those too whose end was to come in the background: it has been cancelled
            with contextlib.suppress(OSError):  # on a full disk the last flush may fail, too
                writer.abandon()


@dataclass(frozen=True)
class NumbersFile:
    """A file of numbers, read a part at a time: what is read of a mapped file counts as memory of the process."""

    path: Path
    dtype: np.dtype[Any]

    def parts(self) -> Iterator[NDArray[Any]]:
        """The numbers, in order."""
        with self.path.open("rb") as stream:
            while len(part := np.fromfile(stream, self.dtype, _PART_ROWS)):
                yield part
