"""From clean events to the arrays of a version, out of core: DuckDB sorts, we write what comes.

The one expensive step is the sort by (pair, time, place in the input). Its result streams past once; edges are
found where the pair changes, and nothing of the size of the events is ever held in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gtea.data.columns import EventShape
from gtea.data.workbench import Workbench
from gtea.errors import DataError
from gtea.store.arrays import ArrayFolder
from gtea.store.duplicates import DuplicateCounter
from gtea.store.layout import MAX_NODES, NODE_IDS, vocabulary_name
from gtea.store.strings import StringTable, table_of

LOW_HALF = (1 << 32) - 1


@dataclass
class BuiltEvents:
    """What was learnt while the events streamed past."""

    num_edges: int = 0
    num_events: int = 0
    first_time: int | None = None
    last_time: int | None = None
    duplicates: int = 0


def number_nodes(bench: Workbench, *, with_node_table: bool) -> None:
    """Make table ``ids(id, n)``: every account, numbered in the byte order of its id."""
    node_table = "UNION ALL SELECT DISTINCT id FROM clean_nodes" if with_node_table else ""
    bench.run(
        f"""CREATE TABLE distinct_ids AS SELECT DISTINCT id FROM (
            SELECT DISTINCT src AS id FROM clean UNION ALL SELECT DISTINCT dst FROM clean {node_table})""",
        "collecting accounts",
    )
    count = int(bench.row("SELECT count(*) FROM distinct_ids")[0])
    if count > MAX_NODES:
        raise DataError(f"accounts: a store holds at most {MAX_NODES:,} (got {count:,}). Split the data.")
    bench.run(
        """CREATE TABLE ids AS SELECT id, (row_number() OVER (ORDER BY id::VARCHAR) - 1)::INTEGER AS n
           FROM distinct_ids""",
        "numbering accounts",
    )
    bench.run("DROP TABLE distinct_ids")


def number_categories(bench: Workbench, shape: EventShape) -> None:
    """Make a table ``vocabulary_k(word, code)`` for each categorical column, words in byte order."""
    for number, column in enumerate(shape.categorical):
        bench.run(f"""CREATE TABLE {vocabulary_name(number)} AS
            SELECT word, (row_number() OVER (ORDER BY word) - 1)::INTEGER AS code
            FROM (SELECT DISTINCT {column} AS word FROM clean)""")


def create_mapped_view(bench: Workbench, shape: EventShape, *, directed: bool, keep_self_loops: bool) -> None:
    """The view ``mapped(key, t, reverse, f0.., c0.., r)``: events by number; key holds a and b, 32 bits each."""
    low, high = ("s.n", "d.n") if directed else ("least(s.n, d.n)", "greatest(s.n, d.n)")
    reverse = "0" if directed else "s.n > d.n"
    codes = [f"v{i}.code AS {name}" for i, name in enumerate(shape.categorical)]
    joins = [f"JOIN {vocabulary_name(i)} v{i} ON e.{name} = v{i}.word" for i, name in enumerate(shape.categorical)]
    columns = [f"e.{name}" for name in shape.features] + codes
    # Self-loops are told by the ids, not the numbers: a condition between s and d invites a cross join.
    bench.run(f"""CREATE VIEW mapped AS
        SELECT ({low}::UBIGINT << 32) | {high}::UBIGINT AS key, t, ({reverse})::UTINYINT AS reverse,
               {"".join(f"{column}, " for column in columns)} r
        FROM clean e JOIN ids s ON e.src = s.id JOIN ids d ON e.dst = d.id {" ".join(joins)}
        {"" if keep_self_loops else "WHERE e.src <> e.dst"}""")


def write_strings(bench: Workbench, arrays: ArrayFolder, shape: EventShape) -> int:
    """Write the account ids and the vocabularies; returns the number of accounts."""
    nodes = _string_table(bench, "SELECT id::VARCHAR FROM ids ORDER BY n")
    arrays.write_strings(NODE_IDS, nodes)
    for number in range(len(shape.categorical)):
        name = vocabulary_name(number)
        arrays.write_strings(name, _string_table(bench, f"SELECT word FROM {name} ORDER BY code"))
    return len(nodes)


def write_events(bench: Workbench, arrays: ArrayFolder, shape: EventShape, relation: str) -> BuiltEvents:
    """Sort the events and write the edge and event arrays."""
    built = BuiltEvents()
    repeats = DuplicateCounter()
    edges = _EdgeWriter(arrays)
    times = arrays.open("event_time")
    reverses = arrays.open("event_reverse")
    features = arrays.open("event_features", len(shape.features))
    categories = arrays.open("event_categories", len(shape.categorical))
    columns = ", ".join(["key", "t", "reverse", *shape.features, *shape.categorical])
    for batch in bench.stream(f"SELECT {columns} FROM {relation} ORDER BY key, t, r", "sorting events"):
        key, t, reverse, *rest = (column.to_numpy() for column in batch.columns)
        numbers, codes = rest[: len(shape.features)], rest[len(shape.features) :]
        repeats.add(key, t, [reverse, *rest])
        edges.add(key, t)
        times.write(t)
        reverses.write(reverse)
        features.write(_rows(numbers, len(key), np.float32))
        categories.write(_rows(codes, len(key), np.int32))
        built.num_events += len(key)
        built.first_time = int(t.min()) if built.first_time is None else min(built.first_time, int(t.min()))
        built.last_time = int(t.max()) if built.last_time is None else max(built.last_time, int(t.max()))
    built.num_edges = edges.finish()
    built.duplicates = repeats.count
    return built


class _EdgeWriter:
    """Finds where the pair changes in the ordered stream and writes the edge arrays."""

    def __init__(self, arrays: ArrayFolder) -> None:
        self._a = arrays.open("edge_a")
        self._b = arrays.open("edge_b")
        self._offset = arrays.open("edge_offset")
        self._first = arrays.open("edge_first_time")
        self._last = arrays.open("edge_last_time")
        self._events = 0
        self._previous: tuple[int, int] | None = None  # key and time of the last event seen

    def add(self, key: NDArray[np.uint64], t: NDArray[np.int64]) -> None:
        before = key[:1] if self._previous is None else np.array([self._previous[0]], dtype=np.uint64)
        starts = np.flatnonzero(np.concatenate([before, key[:-1]]) != key)
        if self._previous is None:
            starts = np.concatenate([[0], starts])
        started = key[starts]
        self._a.write((started >> np.uint64(32)).astype(np.int32))
        self._b.write((started & np.uint64(LOW_HALF)).astype(np.int32))
        self._offset.write(starts + self._events)
        self._first.write(t[starts])
        # An edge's last event is the one before the next edge begins, perhaps in the batch before.
        ends = t[starts - 1]
        if len(starts) and starts[0] == 0:
            ends = ends[1:] if self._previous is None else np.concatenate([[self._previous[1]], ends[1:]])
        self._last.write(ends)
        self._events += len(key)
        self._previous = int(key[-1]), int(t[-1])

    def finish(self) -> int:
        self._offset.write(np.array([self._events]))
        if self._previous is not None:
            self._last.write(np.array([self._previous[1]]))
        return self._a.length


def _rows(columns: Sequence[NDArray[np.generic]], length: int, dtype: type[np.generic]) -> NDArray[np.generic]:
    rows = np.empty((length, len(columns)), dtype=dtype)
    for i, column in enumerate(columns):
        rows[:, i] = column
    return rows


def _string_table(bench: Workbench, sql: str) -> StringTable:
    chunks = [batch.column(0).cast(pa.large_string()) for batch in bench.stream(sql)]
    return table_of(pa.concat_arrays(chunks) if chunks else pa.array([], pa.large_string()))
