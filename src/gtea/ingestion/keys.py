"""Integer keys that replace account ids while events are sorted, and the final numbering of the accounts.

Accounts are numbered in the order of their ids: shorter ids first, ids of equal length by their UTF-8 bytes. For
whole numbers this is the numerical order, so integer ids are their own keys. Text ids are joined with a table that
gives every distinct id a key. In both cases accounts are numbered last, from the keys that remain.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gtea.errors import DataError
from gtea.ingestion.array_writer import ArrayFolder, NumbersFile
from gtea.ingestion.workbench import Workbench
from gtea.store.layout import MAX_NODES, NODE_IDS
from gtea.store.strings import table_of

_LARGEST_TABLE, _TABLE_SHARE = 1 << 26, 0.1

# What an id takes in the hash table of a join, besides its text; what a sort takes at least; and the share of the rest
# for two such tables. Estimates: beyond them, the join is done one end at a time, which is slower and takes less.
_KEY_BYTES = 64
_LARGEST_SHARE = 0.4
_SORT_BYTES = 64 << 20


def integers_are_keys(bench: Workbench, id_type: str) -> bool:
    """Whether the staged ids can be their own keys. Negative ids can't: their text order is not numerical."""
    if id_type != "BIGINT":
        return False
    return not bench.row("SELECT coalesce(min(least(src, dst)) < 0, false) FROM clean")[0]


def create_id_keys(bench: Workbench, *, with_node_table: bool, text: bool = True) -> None:
    """Create view ``id_keys(id, key)`` with every id in the input; keys increase in the canonical order.

    Ids that are no text must be whole numbers as ``integers_are_keys`` says. Keys are the positions in a sorted table.
    A window function would number them, too, but in memory. They are 32-bit integers, because DuckDB knows no bounds of
    a rowid, and sorts the events by wide keys then: half as slow again.
    """
    node_table = "UNION ALL SELECT DISTINCT id FROM clean_nodes" if with_node_table else ""
    id, order = ("id::VARCHAR", "strlen(id), id") if text else ("id", "id")
    bench.run(
        f"""CREATE TABLE distinct_ids AS SELECT DISTINCT {id} AS id FROM (
            SELECT DISTINCT src AS id FROM clean UNION ALL SELECT DISTINCT dst FROM clean {node_table})""",
        "collecting accounts",
    )
    bench.run(f"CREATE TABLE sorted_ids AS SELECT id FROM distinct_ids ORDER BY {order}", "ordering accounts")
    bench.run("DROP TABLE distinct_ids")
    _require_few_enough(bench, "sorted_ids")
    bench.run("CREATE VIEW id_keys AS SELECT id, rowid::INTEGER AS key FROM sorted_ids")


def replace_ids_by_keys(bench: Workbench, events: str) -> str:
    """The relation of events, but with keys for the ids of both ends.

    Usually a join in the query that sorts the events. It holds the keys twice, and DuckDB does not move both copies to
    disk to make room for the sort. So if they need much of the memory, each end is joined on its own, before the sort.
    """
    (size,) = bench.row(f"SELECT 2 * coalesce(sum(strlen(id::VARCHAR) + {_KEY_BYTES}), 0) FROM id_keys")
    if size <= _LARGEST_SHARE * (bench.limit - _SORT_BYTES):
        joins = "JOIN id_keys s ON e.src = s.id JOIN id_keys d ON e.dst = d.id"
        return f"(SELECT e.* REPLACE (s.key AS src, d.key AS dst) FROM {events} e {joins})"
    for end in ("src", "dst"):
        bench.run(
            f"CREATE TABLE clean_{end} AS SELECT e.* REPLACE (k.key AS {end}) "
            f"FROM {events} e JOIN id_keys k ON e.{end} = k.id",
            "replacing ids",
        )
        events = f"clean_{end}"
    bench.run("DROP TABLE clean_src")
    return events


def create_accounts(
    bench: Workbench, *, text: bool, filtered: bool, with_node_table: bool, ends: tuple[EndsFile, EndsFile]
) -> int:
    """Create view ``accounts(id, key)`` of the accounts in the store, and return their number.

    Args:
        text: Whether there is a view ``id_keys``.
        filtered: Whether there is a table ``hubs`` of keys to leave out. Accounts that only lost their edges stay.
        ends: The keys of the edges' ends, far fewer than the events. Without filters they contain every integer id,
            except accounts that have only self-loops.
    """
    if text:
        all_accounts = "SELECT id, key FROM id_keys"
    else:
        bench.register_files("low_ends", {"key": ends[0].file})
        bench.register_files("high_ends", {"key": ends[1].file})
        parts = ["SELECT key FROM low_ends", "SELECT key FROM high_ends", "SELECT src FROM clean WHERE src = dst"]
        if filtered:
            parts += ["SELECT src FROM clean", "SELECT dst FROM clean"]
        if with_node_table:
            parts.append("SELECT id FROM clean_nodes")
        bench.run(f"CREATE TABLE keys AS SELECT DISTINCT key FROM ({' UNION ALL '.join(parts)})", "numbering accounts")
        all_accounts = "SELECT key AS id, key FROM keys"
    without_hubs = "WHERE key NOT IN (SELECT key FROM hubs)" if filtered else ""
    bench.run(f"CREATE VIEW accounts AS SELECT * FROM ({all_accounts}) {without_hubs}")
    return _require_few_enough(bench, "accounts")


def _require_few_enough(bench: Workbench, table: str) -> int:
    """The number of accounts in a table, if a store can hold them."""
    count = int(bench.row(f"SELECT count(*) FROM {table}")[0])
    if count > MAX_NODES:
        raise DataError(f"accounts: a store holds at most {MAX_NODES:,} (got {count:,}). Split the data.")
    return count


def write_accounts(bench: Workbench, arrays: ArrayFolder) -> None:
    """Write the account ids, in the order of their keys."""
    write_string_query(bench, arrays, NODE_IDS, "SELECT id::VARCHAR FROM accounts ORDER BY key")


def write_edge_ends(bench: Workbench, arrays: ArrayFolder, ends: tuple[EndsFile, EndsFile]) -> None:
    """Write both ends of every edge as node numbers: the position of the account's key."""
    position = _position_lookup(bench)
    for name, end in zip(("edge_a", "edge_b"), ends, strict=True):
        writer = arrays.open(name)
        for part in end.file.parts():
            writer.write(position(part))


def _position_lookup(bench: Workbench) -> Callable[[NDArray[np.int64]], NDArray[Any]]:
    """A function that finds the positions of keys.

    Keys without gaps, those of text ids among them, are positions already. If the range of keys is small, a table is
    used: it needs one read per key, a binary search about twenty.
    """
    count, low, high = bench.row("SELECT count(*), coalesce(min(key), 0), coalesce(max(key), -1) FROM accounts")
    size = high - low + 1
    if size == count:
        return lambda wanted: wanted - low
    batches = bench.stream("SELECT key FROM accounts ORDER BY key")
    if size > min(_LARGEST_TABLE, _TABLE_SHARE * bench.limit / 4):
        keys = np.concatenate([batch.column(0).to_numpy() for batch in batches])
        return lambda wanted: np.searchsorted(keys, wanted)
    table, filled = np.zeros(size, dtype=np.int32), 0
    for batch in batches:
        found = batch.column(0).to_numpy()
        table[found - low] = np.arange(filled, filled + len(found))
        filled += len(found)
    return lambda wanted: table[wanted - low]


def write_string_query(bench: Workbench, arrays: ArrayFolder, name: str, sql: str) -> None:
    """Write the string table of a query's result, which must be distinct and in canonical order.

    It is written batch by batch: the ids of all accounts may be larger than memory.
    """
    offsets, data = arrays.open(f"{name}_offset"), arrays.open(f"{name}_bytes")
    offsets.write(np.zeros(1, np.int64))
    for batch in bench.stream(sql):
        table = table_of(batch.column(0).cast(pa.large_string()))
        offsets.write(table.offsets[1:] + data.length)
        data.write(table.data)


class EndsFile:
    """The keys of one end of every edge, in a scratch file."""

    def __init__(self, path: Path) -> None:
        self.file = NumbersFile(path, np.dtype(np.int64))
        self._stream = path.open("xb")
        self.length = 0

    def write(self, keys: NDArray[np.int64]) -> None:
        """Append keys."""
        self._stream.write(np.ascontiguousarray(keys, np.int64).data)
        self.length += len(keys)

    def finish(self) -> EndsFile:
        """Close the file. It can be read now."""
        self._stream.close()
        return self
