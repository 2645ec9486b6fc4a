"""The raw array files of a version: written front to back and hashed on the way, read by memory map."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import StoreError
from gtea.store.layout import DTYPES, STRING_TABLE
from gtea.store.strings import StringTable


class ArrayWriter:
    """Appends rows to one raw little-endian array file."""

    def __init__(self, path: Path, dtype: str, width: int | None) -> None:
        self.length = 0
        self._dtype = np.dtype(dtype)
        self._width = width
        self._path = path
        self._hash = hashlib.sha256()
        self._stream = path.open("xb")

    def write(self, rows: NDArray[Any]) -> None:
        """Append rows, converted to the file's dtype."""
        block = np.ascontiguousarray(rows, dtype=self._dtype)
        self.length += len(block)
        data = block.reshape(-1).view(np.uint8).data
        self._hash.update(data)
        self._stream.write(data)

    def close(self) -> dict[str, Any]:
        """Bring the bytes to disk and describe the file for the manifest."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        size = self._stream.tell()
        self._stream.close()
        shape = [self.length] if self._width is None else [self.length, self._width]
        described = {"file": self._path.name, "dtype": self._dtype.str, "shape": shape}
        return {**described, "bytes": size, "sha256": self._hash.hexdigest()}

    def abandon(self) -> None:
        """Let go of the file, whatever state it is in."""
        self._stream.close()


class ArrayFolder:
    """The folder in which a version's arrays are being written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writers: dict[str, ArrayWriter] = {}
        self._described: dict[str, dict[str, Any]] = {}
        folder.mkdir()

    def open(self, name: str, width: int | None = None) -> ArrayWriter:
        """Begin an array. ``width`` is the length of a row; None stands for one dimension."""
        suffix = next((suffix for suffix in STRING_TABLE if name.endswith(suffix) and name not in DTYPES), "")
        dtype = STRING_TABLE[suffix] if suffix else DTYPES[name]
        self._writers[name] = ArrayWriter(self.folder / f"{name}.bin", dtype, width)
        return self._writers[name]

    def write(self, name: str, rows: NDArray[Any]) -> None:
        """Write a whole array."""
        self.open(name, rows.shape[1] if rows.ndim == 2 else None).write(rows)

    def write_strings(self, name: str, table: StringTable) -> None:
        """Write a table of strings."""
        self.write(f"{name}_offset", table.offsets)
        self.write(f"{name}_bytes", table.data)

    def finish(self, name: str) -> NDArray[Any]:
        """Bring one array to disk and map it for reading, while others are still being written."""
        self._described[name] = self._writers.pop(name).close()
        return map_array(self.folder, self._described[name])

    def close(self) -> dict[str, dict[str, Any]]:
        """Bring everything to disk and describe it for the manifest."""
        for name in tuple(self._writers):
            self._described[name] = self._writers.pop(name).close()
        return dict(sorted(self._described.items()))

    def __enter__(self) -> ArrayFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for writer in self._writers.values():
            with contextlib.suppress(OSError):  # a full disk may refuse the last flush, too
                writer.abandon()


def map_array(folder: Path, described: dict[str, Any]) -> NDArray[Any]:
    """Map one array into memory. Costs the same whatever its size."""
    path = folder / described["file"]
    size = path.stat().st_size
    if size != described["bytes"]:
        raise StoreError(
            f"{path}: must have {described['bytes']} bytes (got {size}). "
            "The file was cut or written to; restore it from a backup or ingest again."
        )
    shape = tuple(described["shape"])
    if size == 0:
        return np.zeros(shape, dtype=described["dtype"])
    return np.memmap(path, dtype=described["dtype"], mode="r", shape=shape).view(np.ndarray)
