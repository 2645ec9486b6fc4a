"""Write the edge and event arrays of a version from clean events, out of core.

The expensive step is DuckDB's sort by (pair, time, position in the input). Its result is streamed once, and a new edge
starts where the pair changes. Nothing of the size of the events is ever held in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gtea.ingestion.array_writer import ArrayFolder
from gtea.ingestion.duplicates import DuplicateCounter
from gtea.ingestion.keys import EndsFile, replace_ids_by_keys, write_string_query
from gtea.ingestion.workbench import Workbench
from gtea.store.layout import vocabulary_name
from gtea.store.schema import EventShape


@dataclass(frozen=True)
class EventTotals:
    """Counts and totals collected while the events were streamed."""

    num_edges: int
    num_events: int
    first_time: int | None
    last_time: int | None
    duplicates: int


@dataclass(frozen=True)
class BuiltEvents(EventTotals):
    """The totals, and what is still to be written of the edges."""

    ends: tuple[EndsFile, EndsFile]
    """The keys of the two ends of every edge."""


def create_vocabularies(bench: Workbench, shape: EventShape) -> None:
    """Number the words of each categorical column in canonical order, in tables ``vocabulary_k(word, code)``."""
    for number, column in enumerate(shape.categorical):
        name = vocabulary_name(number)
        bench.run(f"""CREATE TABLE {name} AS
            SELECT word, (row_number() OVER (ORDER BY strlen(word), word) - 1)::INTEGER AS code
            FROM (SELECT DISTINCT {column} AS word FROM clean)""")


def write_vocabularies(bench: Workbench, arrays: ArrayFolder, shape: EventShape) -> None:
    """Write the words of each categorical column, in the order of their codes."""
    for number in range(len(shape.categorical)):
        name = vocabulary_name(number)
        write_string_query(bench, arrays, name, f"SELECT word FROM {name} ORDER BY code")


def create_keyed_view(
    bench: Workbench, shape: EventShape, *, text: bool, directed: bool, keep_self_loops: bool
) -> None:
    """Create the view ``keyed(lo, hi, t, reverse, f0.., c0.., r)``: events with the keys of their ends."""
    # Compare ids, not keys, to find self-loops: a condition between the keys can lead to a cross join.
    events = "clean" if keep_self_loops else "(SELECT * FROM clean WHERE src <> dst)"
    events = replace_ids_by_keys(bench, events) if text else events
    low, high = ("e.src", "e.dst") if directed else ("least(e.src, e.dst)", "greatest(e.src, e.dst)")
    reverse = "0" if directed else "e.src > e.dst"
    columns = [f"e.{name}" for name in shape.features]
    columns += [f"v{i}.code AS {name}" for i, name in enumerate(shape.categorical)]
    joins = [f"JOIN {vocabulary_name(i)} v{i} ON e.{name} = v{i}.word" for i, name in enumerate(shape.categorical)]
    bench.run(f"""CREATE VIEW keyed AS
        SELECT {low} AS lo, {high} AS hi, t, ({reverse})::UTINYINT AS reverse,
               {"".join(f"{column}, " for column in columns)} r
        FROM {events} e {" ".join(joins)}""")


def write_events(bench: Workbench, arrays: ArrayFolder, shape: EventShape, relation: str, scratch: Path) -> BuiltEvents:
    """Sort the events and write all edge and event arrays except the edges' ends."""
    columns = ", ".join(["lo", "hi", "t", "reverse", *shape.features, *shape.categorical])
    batches = bench.stream(f"SELECT {columns} FROM {relation} ORDER BY lo, hi, t, r", "sorting events")
    return write_sorted_events(batches, arrays, shape, scratch)


def write_sorted_events(
    batches: Iterable[pa.RecordBatch], arrays: ArrayFolder, shape: EventShape, scratch: Path
) -> BuiltEvents:
    """Write the edge and event arrays of events ``(lo, hi, t, reverse, f0.., c0..)`` that come in order."""
    with _EdgeWriter(arrays, scratch) as edges:
        return _write_all(batches, arrays, shape, edges)


def _write_all(
    batches: Iterable[pa.RecordBatch], arrays: ArrayFolder, shape: EventShape, edges: _EdgeWriter
) -> BuiltEvents:
    repeats = DuplicateCounter()
    times = arrays.open("event_time")
    reverses = arrays.open("event_reverse")
    features = arrays.open("event_features", len(shape.features))
    categories = arrays.open("event_categories", len(shape.categorical))
    extremes: list[int] = []
    for batch in batches:
        lo, hi, t, reverse, *rest = (column.to_numpy() for column in batch.columns)
        numbers, codes = rest[: len(shape.features)], rest[len(shape.features) :]
        repeats.add([lo, hi, t], [reverse, *rest])
        edges.add(lo, hi, t)
        times.write(t)
        reverses.write(reverse)
        features.write(_rows(numbers, len(t), np.float32))
        categories.write(_rows(codes, len(t), np.int32))
        extremes = [min([*extremes, int(t.min())]), max([*extremes, int(t.max())])]
    first, last = extremes or (None, None)
    ends = edges.finish()
    return BuiltEvents(ends[0].length, times.length, first, last, repeats.count, ends)


class _EdgeWriter:
    """Finds where the pair changes in the sorted stream, and writes the edge arrays."""

    def __init__(self, arrays: ArrayFolder, scratch: Path) -> None:
        self._lo = EndsFile(scratch / "edge_lo")
        self._hi = EndsFile(scratch / "edge_hi")
        self._offset = arrays.open("edge_offset")
        self._first = arrays.open("edge_first_time")
        self._last = arrays.open("edge_last_time")
        self._events = 0
        self._previous: tuple[int, int, int] | None = None  # ends and time of the last event seen

    def add(self, lo: NDArray[np.int64], hi: NDArray[np.int64], t: NDArray[np.int64]) -> None:
        changes = np.empty(len(t), dtype=bool)
        np.not_equal(lo[1:], lo[:-1], out=changes[1:])
        changes[1:] |= hi[1:] != hi[:-1]
        changes[0] = self._previous is None or (int(lo[0]), int(hi[0])) != self._previous[:2]
        starts = np.flatnonzero(changes)
        self._lo.write(lo[starts])
        self._hi.write(hi[starts])
        self._offset.write(starts + self._events)
        self._first.write(t[starts])
        # An edge's last event is the one before the next edge starts, which may be in the previous batch.
        ends = t[starts - 1]
        if changes[0]:
            ends = ends[1:] if self._previous is None else np.concatenate([[self._previous[2]], ends[1:]])
        self._last.write(ends)
        self._events += len(t)
        self._previous = int(lo[-1]), int(hi[-1]), int(t[-1])

    def __enter__(self) -> _EdgeWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._lo.finish()
        self._hi.finish()

    def finish(self) -> tuple[EndsFile, EndsFile]:
        self._offset.write(np.array([self._events]))
        if self._previous is not None:
            self._last.write(np.array([self._previous[2]]))
        return self._lo.finish(), self._hi.finish()


def _rows(columns: Sequence[NDArray[np.generic]], length: int, dtype: type[np.generic]) -> NDArray[np.generic]:
    rows = np.empty((length, len(columns)), dtype=dtype)
    for i, column in enumerate(columns):
        rows[:, i] = column
    return rows
