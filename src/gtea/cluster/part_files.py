"""The file of a task: named arrays, each with its digest, and a few facts in JSON.

    arrays one after the other | header (JSON) | length of the header | sha256 of the header | _MAGIC

The header comes last because arrays are written as they are made. An array is read alone, so that a task reads no more
of another's file than it needs; its digest is checked then. Only numbers are stored: there is nothing to be run.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import StoreError
from gtea.runtime.files import atomic_write
from gtea.runtime.json_shape import strict_json

Arrays = Mapping[str, NDArray[Any] | Sequence[NDArray[Any]]]
"""Arrays by name; a list stands for the array that it would be if it were put together."""

SUFFIX = ".part"
_MAGIC = b"gteapart"
_TAIL = 8 + 32 + len(_MAGIC)
_MAX_HEADER = 1 << 28
_KINDS = frozenset("biuf")
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
    arrays: dict[str, dict[str, Any]]

    @staticmethod
    def open(path: Path) -> PartFile:
        """Read and check the header."""
        try:
            with path.open("rb") as stream:
                size = stream.seek(0, os.SEEK_END)
                stream.seek(max(0, size - _TAIL))
                tail = stream.read(_TAIL)
                length = int.from_bytes(tail[:8], "little")
                if len(tail) < _TAIL or tail[40:] != _MAGIC or length > min(size - _TAIL, _MAX_HEADER):
                    raise DamagedFileError(path, "has been cut")
                stream.seek(size - _TAIL - length)
                header = stream.read(length)
        except OSError as error:
            raise DamagedFileError(path, f"can't be read ({error.strerror})") from error
        if hashlib.sha256(header).digest() != tail[8:40]:
            raise DamagedFileError(path, "has been changed")
        found = strict_json(header)
        return PartFile(path, found["facts"], found["arrays"])

    def read(self, name: str) -> NDArray[Any]:
        """One of the arrays."""
        described = self.arrays[name]
        made = np.empty(described["shape"], dtype=np.dtype(described["dtype"]))
        content = _bytes_of(made)
        with self.path.open("rb") as stream:
            stream.seek(described["offset"])
            if stream.readinto(content) != len(content) or _digest(content) != described["sha256"]:
                raise DamagedFileError(self.path, f"{name} has been changed or cut")
        return made

    def read_rows(self, name: str, first: int, count: int) -> NDArray[Any]:
        """Some rows of an array, as they are: for who has checked that the file is whole."""
        described = self.arrays[name]
        shape = (count, *described["shape"][1:])
        made = np.empty(shape, dtype=np.dtype(described["dtype"]))
        content = _bytes_of(made)
        with self.path.open("rb") as stream:
            stream.seek(described["offset"] + first * made.itemsize * math.prod(shape[1:]))
            if stream.readinto(content) != len(content):
                raise DamagedFileError(self.path, f"{name} has been cut")
        return made

    def size_of(self, name: str) -> int:
        """How many bytes an array has."""
        described = self.arrays[name]
        size: int = math.prod(described["shape"]) * np.dtype(described["dtype"]).itemsize
        return size

    def require_whole(self) -> None:
        """Raise if any byte has changed."""
        with self.path.open("rb") as stream:
            for name, described in self.arrays.items():
                digest = hashlib.sha256()
                for chunk in _chunks(stream, described["offset"], self.size_of(name)):
                    digest.update(chunk)
                if digest.hexdigest() != described["sha256"]:
                    raise DamagedFileError(self.path, f"{name} has been changed or cut")


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
            pieces = given if isinstance(given, Sequence) else [given]
            digest, rows = hashlib.sha256(), 0
            for piece in pieces:
                assert piece.dtype.kind in _KINDS, "only numbers are stored"
                content = _bytes_of(np.ascontiguousarray(piece))
                digest.update(content)
                stream.write(content)
                rows += len(piece)
            first = pieces[0]
            shape = [rows, *first.shape[1:]]
            described[name] = {
                "dtype": first.dtype.str, "shape": shape, "offset": offset, "sha256": digest.hexdigest(),
            }  # fmt: skip
            offset += math.prod(shape) * first.dtype.itemsize
        header = json.dumps({"facts": dict(facts), "arrays": described}).encode()
        stream.write(header + len(header).to_bytes(8, "little") + hashlib.sha256(header).digest() + _MAGIC)


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
