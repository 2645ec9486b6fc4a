"""The file of a task: named arrays, each with its digest, and a few facts in JSON.

    arrays one after the other | header (JSON) | length of the header | sha256 of the header | _MAGIC

The header also has the name of the task: its file can't stand for that of another. It comes last because arrays are
written as they are made. An array is read alone, so that a task reads no more of another's file than it needs; its
digest is checked then. Only numbers are stored: there is nothing to be run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import StoreError
from gtea.runtime.array_table import StoredArray, stored_arrays
from gtea.runtime.files import atomic_write
from gtea.runtime.json_shape import Every, misshapen, strict_json
from gtea.runtime.plain_files import open_plain


@dataclass(frozen=True)
class Pieces:
    """An array that comes in pieces, one after the other: all of it may be larger than memory."""

    dtype: np.dtype[Any]
    row_shape: tuple[int, ...]
    """The shape of a row: ``()`` for an array of one dimension."""
    pieces: Iterable[NDArray[Any]]

    @staticmethod
    def of(given: NDArray[Any] | Sequence[NDArray[Any]] | Pieces) -> Pieces:
        """An array or a list as pieces."""
        if isinstance(given, Pieces):
            return given
        pieces = given if isinstance(given, Sequence) else [given]
        return Pieces(pieces[0].dtype, pieces[0].shape[1:], pieces)


Arrays = Mapping[str, NDArray[Any] | Sequence[NDArray[Any]] | Pieces]
"""Arrays by name; a list stands for the array that it would be if it were put together."""

SUFFIX = ".part"
_MAGIC = b"gteapart"
_TAIL = 8 + 32 + len(_MAGIC)
_MAX_HEADER = 1 << 28
_KINDS = frozenset("biuf")
_HEADER = {"name": str, "facts": Every(object), "arrays": Every(object)}
_CHUNK = 1 << 24


class DamagedFileError(StoreError):
    """A file of a task is not what was written, or is missing."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}. Run the same command again; it will be made again.")
        self.path = path


@dataclass(frozen=True)
class PartFile:
    """An opened file. Nothing but its header has been read."""

    path: Path
    facts: dict[str, Any]
    arrays: dict[str, StoredArray]

    @staticmethod
    def open(path: Path) -> PartFile:
        """Read and check the header."""
        with _stream(path) as (stream, size):
            stream.seek(max(0, size - _TAIL))
            tail = stream.read(_TAIL)
            length = int.from_bytes(tail[:8], "little")
            if len(tail) < _TAIL or tail[40:] != _MAGIC or length > min(size - _TAIL, _MAX_HEADER):
                raise DamagedFileError(path, "has been cut")
            stream.seek(size - _TAIL - length)
            header = stream.read(length)
        if hashlib.sha256(header).digest() != tail[8:40]:
            raise DamagedFileError(path, "has been changed")
        try:
            found = strict_json(header)
            fault = misshapen(found, _HEADER, "header")
            if fault is not None:
                raise ValueError(fault)
            if found["name"] != path.stem:
                raise ValueError(f"it is that of {found['name']}"[:80])
            return PartFile(path, found["facts"], stored_arrays(found["arrays"], size - _TAIL - length))
        except ValueError as error:
            raise DamagedFileError(path, f"is no file of a task ({error})") from error

    def fact(self, name: str, shape: Any) -> Any:
        """One of the facts, of a shape as in :mod:`gtea.runtime.json_shape`."""
        fault = misshapen(self.facts.get(name), shape, name)
        if fault is not None:
            raise DamagedFileError(self.path, fault)
        return self.facts.get(name)

    def stored(self, name: str) -> StoredArray:
        """What the header says of an array."""
        if name not in self.arrays:
            raise DamagedFileError(self.path, f"has no {name}")
        return self.arrays[name]

    def num_rows(self, name: str) -> int:
        """How many rows an array has."""
        return (*self.stored(name).shape, 0)[0]

    def read(self, name: str) -> NDArray[Any]:
        """One of the arrays."""
        stored = self.stored(name)
        made = np.empty(stored.shape, dtype=stored.dtype)
        self.read_into(name, made)
        return made

    def read_list(self, name: str) -> NDArray[Any]:
        """An array of whole numbers with one dimension."""
        if len(self.stored(name).shape) != 1 or self.stored(name).dtype.kind not in "iu":
            raise DamagedFileError(self.path, f"{name} must be a list of whole numbers")
        return self.read(name)

    def read_into(self, name: str, made: NDArray[Any]) -> None:
        """One of the arrays, into memory that lies side by side."""
        stored = self.stored(name)
        if made.dtype != stored.dtype or made.shape != stored.shape:
            raise DamagedFileError(self.path, f"{name} has other rows")
        if _digest(self._fill(name, 0, made)) != stored.sha256:
            raise DamagedFileError(self.path, f"{name} has been changed or cut")

    def read_rows(self, name: str, first: int, count: int) -> NDArray[Any]:
        """Some rows of an array, as they are: for who has checked that the file is whole."""
        stored = self.stored(name)
        if not stored.shape or not 0 <= first <= first + count <= stored.shape[0]:
            raise DamagedFileError(self.path, f"{name} has other rows")
        made = np.empty((count, *stored.shape[1:]), dtype=stored.dtype)
        self._fill(name, first, made)
        return made

    def mapped(self, name: str) -> NDArray[Any]:
        """An array that stays in the file, as it is: for who has checked that the file is whole."""
        stored = self.stored(name)
        if not stored.num_bytes:
            return np.empty(stored.shape, dtype=stored.dtype)
        return np.asarray(np.memmap(self.path, stored.dtype, "r", stored.offset, stored.shape))

    def stream(self, name: str, rows_at_a_time: int) -> Iterator[NDArray[Any]]:
        """An array, some rows at a time.

        Only at the end is it known that none has changed: what is made of them must not be used before.
        """
        stored, digest = self.stored(name), hashlib.sha256()
        for first in range(0, self.num_rows(name), rows_at_a_time):
            count = min(rows_at_a_time, self.num_rows(name) - first)
            made = np.empty((count, *stored.shape[1:]), dtype=stored.dtype)
            digest.update(self._fill(name, first, made))
            yield made
        if digest.hexdigest() != stored.sha256:
            raise DamagedFileError(self.path, f"{name} has been changed or cut")

    def require_whole(self) -> None:
        """Raise if any byte has changed."""
        with _stream(self.path) as (stream, _):
            for name, stored in self.arrays.items():
                digest = hashlib.sha256()
                for chunk in _chunks(stream, stored.offset, stored.num_bytes):
                    digest.update(chunk)
                if digest.hexdigest() != stored.sha256:
                    raise DamagedFileError(self.path, f"{name} has been changed or cut")

    def _fill(self, name: str, first: int, made: NDArray[Any]) -> memoryview:
        """Read rows; the bytes that have been read."""
        stored, content = self.stored(name), _bytes_of(made)
        with _stream(self.path) as (stream, _):
            stream.seek(stored.offset + first * stored.dtype.itemsize * math.prod(made.shape[1:]))
            if stream.readinto(content) != len(content):
                raise DamagedFileError(self.path, f"{name} has been cut")
        return content


def is_whole(path: Path) -> bool:
    """Whether a file is there, and every byte of it is as it was written."""
    try:
        PartFile.open(path).require_whole()
    except DamagedFileError:
        return False
    return True


def write_part_file(path: Path, arrays: Arrays, facts: Mapping[str, Any]) -> None:
    """Write a file in one step."""
    described, offset = dict[str, Any](), 0
    with atomic_write(path, durable=False) as stream:
        for name, given in arrays.items():
            array = Pieces.of(given)
            assert array.dtype.kind in _KINDS, "only numbers are stored"
            digest, rows = hashlib.sha256(), 0
            for piece in array.pieces:
                content = _bytes_of(np.ascontiguousarray(piece))
                digest.update(content)
                stream.write(content)
                rows += len(piece)
            stored = StoredArray(array.dtype, (rows, *array.row_shape), offset, digest.hexdigest())
            described[name] = stored.to_json()
            offset += stored.num_bytes
        header = json.dumps({"name": path.stem, "facts": dict(facts), "arrays": described}).encode()
        stream.write(header + len(header).to_bytes(8, "little") + hashlib.sha256(header).digest() + _MAGIC)


@contextlib.contextmanager
def _stream(path: Path) -> Iterator[tuple[BufferedReader, int]]:
    """A regular file, never a link or a pipe, and its size."""
    try:
        with (
            open_plain(path.parent, path.name, through_link=True) as file,
            os.fdopen(os.dup(file.number), "rb") as stream,
        ):
            yield stream, file.size
    except OSError as error:
        raise DamagedFileError(path, f"can't be read ({error.strerror})") from error


def _chunks(stream: Any, offset: int, size: int) -> Iterator[bytes]:
    stream.seek(offset)
    while size > 0:
        chunk = stream.read(min(size, _CHUNK))
        if not chunk:
            return
        size -= len(chunk)
        yield chunk


def _bytes_of(array: NDArray[Any]) -> memoryview:
    content: Any = array.reshape(-1).view(np.uint8)
    return memoryview(content)


def _digest(content: memoryview) -> str:
    return hashlib.sha256(content).hexdigest()
