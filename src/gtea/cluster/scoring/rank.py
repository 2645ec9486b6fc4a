"""The tasks ``rank``: the table of all scores, merged from the parts' own ranked rows, a piece at a time.

Of each part some rows are held. All rows that rank no later than the earliest of the parts' last held rows can be
written: whatever has not been read yet ranks after them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gtea.cluster.part_files import Arrays, PartFile
from gtea.cluster.scoring.job import open_job
from gtea.cluster.tasks import made_by
from gtea.runtime.json_shape import Natural
from gtea.scoring.edge_cache import model_digest
from gtea.scoring.previous_scores import ScoresOrigin
from gtea.scoring.table import RankedRows, table_of_pairs, table_of_rows
from gtea.scoring.table_output import TableOutput
from gtea.store.store import Store

_ROWS_HELD = 1 << 16
_TOP = 10

Columns = dict[str, NDArray[Any]]
"""Numbers of some rows by name. ``nodes`` decides between equal scores: for pairs, their place in the order of both
ends."""
Ids = list[pa.LargeStringArray]


def rank(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """Write the table of accounts. Its digest and the summary are facts."""
    job = open_job(folder)
    unit = Store.open(job.content["store"]).unit
    origin = ScoresOrigin(job.cut, unit, model_digest(job.model.saved), job.content["requested"] is None)

    def table_of(columns: Columns, ids: Ids, first_rank: int) -> pa.Table:
        columns["active"] = columns["active"].astype(np.bool_)
        return origin.attach(table_of_rows(job.node_model, RankedRows(**columns), ids[0], first_rank))

    return _written(folder, arguments, RankedRows._fields, ("id",), table_of)


def rank_pairs(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """Write the table of pairs. Its digest and the summary are facts."""

    def table_of(columns: Columns, ids: Ids, first_rank: int) -> pa.Table:
        src, dst = ids
        return table_of_pairs(src, dst, columns["scores"], columns["active"].astype(np.bool_), first_rank)

    return _written(folder, arguments, ("nodes", "scores", "active"), ("src", "dst"), table_of)


def _written(
    folder: Path,
    arguments: dict[str, Any],
    columns: Sequence[str],
    ids: Sequence[str],
    table_of: Callable[[Columns, Ids, int], pa.Table],
) -> tuple[Arrays, Mapping[str, Any]]:
    """Write the table of all parts' rows.

    Args:
        columns: The arrays of numbers in the parts' files.
        ids: The kinds of ids in them.
        table_of: Makes a piece of the table of them, given its first rank.
    """
    out, files = Path(arguments["out"]), [made_by(folder, name) for name in arguments["answers"]]
    for file in files:
        file.require_whole()  # rows are read a few at a time
    counts = {"rows": 0, "alerts": 0}
    top: list[dict[str, Any]] = []

    def tables() -> Iterator[pa.Table]:
        for numbers, texts in merged([_Rows(file, columns, ids) for file in files]):
            table = table_of(numbers, texts, counts["rows"] + 1)
            counts["rows"] += len(table)
            if "alert" in table.column_names:
                counts["alerts"] += int(np.count_nonzero(table["alert"]))
            if len(top) < _TOP:
                top.extend(table.slice(0, _TOP - len(top)).to_pylist())
            yield table

    TableOutput(out, for_spreadsheets=arguments["for_spreadsheets"]).write_pieces(tables())
    summary = {**counts, "inactive": sum(file.fact("inactive", Natural) for file in files), "top": top}
    return {}, {"summary": summary, "sha256": digest_of(out)}


def digest_of(path: Path) -> str:
    """The sha256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def merged(parts: list[_Rows]) -> Iterator[tuple[Columns, Ids]]:
    """The rows of all parts in order, some at a time, with their ids."""
    left = [part for part in parts if part.fill()]
    while left:
        # Of the parts that have more to come, the last held row that ranks first. Ranks never tie: nodes differ.
        ends = [part.last() for part in left if part.has_more()]
        until = min(ends) if ends else None
        taken = [part.take(until) for part in left]
        columns = {name: np.concatenate([each[0][name] for each in taken]) for name in taken[0][0]}
        order = np.lexsort((columns["nodes"], -columns["scores"]))
        places = pa.array(order)
        ids = [pa.concat_arrays(list(each)).take(places) for each in zip(*(each[1] for each in taken), strict=True)]
        yield {name: column[order] for name, column in columns.items()}, ids
        left = [part for part in left if part.fill()]


class _Rows:
    """The rows of a part that have not been written yet, of which some are held."""

    def __init__(self, file: PartFile, columns: Sequence[str], ids: Sequence[str]) -> None:
        """Begin with the first row.

        Args:
            columns: The arrays to read: ``scores`` and ``nodes``, by which rows are ranked, and perhaps others.
            ids: The kinds of ids to read.
        """
        self._columns = {name: _Column(file, name) for name in (*columns, *(f"{name}_ends" for name in ids))}
        self._bytes = {name: _Column(file, f"{name}_bytes") for name in ids}
        self._left: int = file.num_rows("nodes")
        self._written_bytes = dict.fromkeys(ids, 0)
        self._held: dict[str, NDArray[Any]] = {name: column.next(0) for name, column in self._columns.items()}

    def fill(self) -> bool:
        """Hold enough rows; False if there are none left."""
        wanted = min(_ROWS_HELD - self._num_held, self._left)
        if wanted > 0 and self._num_held <= _ROWS_HELD // 2:
            self._left -= wanted
            for name, column in self._columns.items():
                self._held[name] = np.concatenate([self._held[name], column.next(wanted)])
        return self._num_held > 0

    def has_more(self) -> bool:
        """Whether there are rows that are not held yet."""
        return self._left > 0

    def last(self) -> tuple[float, int]:
        """Where the last held row ranks."""
        return -float(self._held["scores"][-1]), int(self._held["nodes"][-1])

    def take(self, until: tuple[float, int] | None) -> tuple[Columns, Ids]:
        """The held rows up to a rank; None for all."""
        count = self._num_held
        if until is not None:
            score, node = self._held["scores"], self._held["nodes"]
            count = int(np.count_nonzero((-score < until[0]) | ((-score == until[0]) & (node <= until[1]))))
        taken = {name: column[:count] for name, column in self._held.items()}
        self._held = {name: column[count:] for name, column in self._held.items()}
        return taken, [self._texts(name, taken.pop(f"{name}_ends")) for name in self._bytes]

    def _texts(self, name: str, ends: NDArray[np.int64]) -> pa.LargeStringArray:
        """The next ids of a kind, given where they end."""
        offsets = np.concatenate([[self._written_bytes[name]], ends]) - self._written_bytes[name]
        text = self._bytes[name].next(int(offsets[-1]))
        self._written_bytes[name] += int(offsets[-1])
        return pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(text))

    @property
    def _num_held(self) -> int:
        return len(self._held["nodes"])


class _Column:
    """An array of a file, read from front to back."""

    def __init__(self, file: PartFile, name: str) -> None:
        self._file, self._name, self._next = file, name, 0

    def next(self, count: int) -> NDArray[Any]:
        """The next rows."""
        rows = self._file.read_rows(self._name, self._next, count)
        self._next += count
        return rows
