"""Rows of several columns as one array of bytes: what tasks hand to each other where every row goes its own way.

Rows wait in scratch files until the file of a task is written: there may be more of them than fits into memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gtea.cluster.part_files import DamagedFileError, PartFile, Pieces
from gtea.ingestion.workbench import Workbench

Rows = NDArray[Any]
"""A structured array: one record per row."""

ROWS_AT_A_TIME = 1 << 16


def packed(columns: Mapping[str, NDArray[Any]], dtype: np.dtype[Any]) -> Rows:
    """Columns of equal length as rows."""
    rows = np.empty(len(next(iter(columns.values()))), dtype)
    for name in dtype.names or ():
        rows[name] = columns[name]
    return rows


def packed_rows_of(file: PartFile, name: str, dtype: np.dtype[Any]) -> Iterator[Rows]:
    """The rows of an array of a task, some at a time, as ``PartFile.stream`` gives them."""
    for content in file.stream(name, ROWS_AT_A_TIME):
        yield content.view(dtype).reshape(len(content))


def arrow_reader(rows: Iterable[Rows], dtype: np.dtype[Any]) -> pa.RecordBatchReader:
    """Rows as a table that can be read once."""
    names = dtype.names or ()
    schema = pa.schema([(name, pa.from_numpy_dtype(dtype[name])) for name in names])
    batches = (pa.record_batch([np.ascontiguousarray(each[name]) for name in names], schema) for each in rows)
    return pa.RecordBatchReader.from_batches(schema, batches)


@contextmanager
def registered(bench: Workbench, name: str, rows: Iterable[Rows], dtype: np.dtype[Any]) -> Iterator[None]:
    """Rows as a table of SQL that can be read once. A damaged file is told as such: DuckDB has its own words for it."""
    damaged: list[DamagedFileError] = []

    def noted() -> Iterator[Rows]:
        try:
            yield from rows
        except DamagedFileError as error:
            damaged.append(error)
            raise

    bench.register(name, arrow_reader(noted(), dtype))
    try:
        yield
    except Exception:
        if damaged:
            raise damaged[0] from None
        raise


def file_pieces(
    path: Path, dtype: np.dtype[Any], width: int | None = None, *, first: int = 0, count: int | None = None
) -> Pieces:
    """An array in a file of numbers, or some rows of it.

    Args:
        width: Numbers in a row; None for an array of one dimension.
        first: The row with which it begins.
        count: How many rows it has; by default all.
    """
    shape = () if width is None else (width,)
    numbers = 1 if width is None else width

    def pieces() -> Iterator[NDArray[Any]]:
        left = count
        if width == 0:
            yield np.empty((count or 0, 0), dtype)
            return
        with path.open("rb") as stream:
            stream.seek(first * numbers * dtype.itemsize)
            while left is None or left > 0:
                wanted = ROWS_AT_A_TIME if left is None else min(left, ROWS_AT_A_TIME)
                found = np.fromfile(stream, dtype, wanted * numbers)
                if not len(found):
                    return
                yield found.reshape(-1, *shape)
                left = left if left is None else left - wanted

    return Pieces(dtype, shape, pieces())


class RowFile:
    """A scratch file of rows, each of which belongs to a group."""

    def __init__(self, path: Path, dtype: np.dtype[Any], num_groups: int = 1) -> None:
        self._path, self._width = path, dtype.itemsize
        self._blocks: list[list[tuple[int, int]]] = [[] for _ in range(num_groups)]
        self._rows = 0
        self._stream = path.open("xb")

    def add(self, rows: Rows, group: NDArray[np.integer[Any]] | None = None) -> None:
        """Append rows, with the number of the group of each. Those of a group stay in order."""
        counts = np.array([len(rows)])
        if group is not None:
            rows = rows[np.argsort(group, kind="stable")]
            counts = np.bincount(group, minlength=len(self._blocks))
        self._stream.write(np.ascontiguousarray(rows).view(np.uint8).data)
        before = self._rows + np.cumsum(counts) - counts
        for number in np.flatnonzero(counts):
            self._blocks[number].append((int(before[number]), int(counts[number])))
        self._rows += len(rows)

    def __enter__(self) -> RowFile:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file. It can be read now."""
        self._stream.close()

    def group(self, number: int = 0) -> Pieces:
        """The bytes of the rows of a group, as an array of a task: a row for each."""

        def pieces() -> Iterator[NDArray[Any]]:
            for first, count in self._blocks[number]:
                yield from file_pieces(self._path, np.dtype(np.uint8), self._width, first=first, count=count).pieces

        return Pieces(np.dtype(np.uint8), (self._width,), pieces())
