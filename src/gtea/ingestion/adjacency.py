"""Build the slots of every node from the edges, ordered by the edge's first event."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gtea.ingestion.array_writer import ArrayFolder, ArrayWriter
from gtea.ingestion.workbench import Workbench

_CHUNK = 1 << 20


def write_adjacency(bench: Workbench, arrays: ArrayFolder, num_nodes: int) -> None:
    """Write node_offset and the slot arrays of the edges in ``arrays``. A self-loop gets one slot.

    With this order, a view finds the slots before its cut as a prefix by binary search, so a hub costs hardly more
    than a leaf. DuckDB does the sort, and the edges are read a part at a time: they may be many times larger than
    memory.
    """
    bench.register_files("edge_arrays", {name: arrays.file(f"edge_{name}") for name in ("a", "b", "first_time")})
    bench.run("CREATE OR REPLACE TABLE edges AS SELECT a, b, first_time AS first FROM edge_arrays")
    slots = """(
        SELECT a AS node, b AS neighbour, rowid AS edge, first FROM edges
        UNION ALL SELECT b, a, rowid, first FROM edges WHERE a <> b)"""
    write_slots(bench, arrays, slots, num_nodes)


def write_slots(bench: Workbench, arrays: ArrayFolder, slots: str, num_nodes: int) -> None:
    """Sort a relation ``(node, neighbour, edge, first)`` of the slots of all nodes and write it."""
    offsets = _OffsetWriter(arrays.open("node_offset"))
    writers = [arrays.open(name) for name in ("slot_neighbour", "slot_edge", "slot_first_time")]
    sql = f"SELECT node, neighbour, edge, first FROM {slots} ORDER BY node, first, edge"
    for batch in bench.stream(sql, "linking accounts"):
        offsets.add(batch.column(0).to_numpy())
        for writer, column in zip(writers, batch.columns[1:], strict=True):
            writer.write(column.to_numpy())
    offsets.finish(num_nodes)


class _OffsetWriter:
    """Writes the number of slots before each node, while the nodes of the slots come by in order."""

    def __init__(self, writer: ArrayWriter) -> None:
        self._writer = writer
        self._slots = 0

    def add(self, node: NDArray[np.int64]) -> None:
        """Note the nodes of the next slots."""
        self._write_up_to(int(node[-1]) + 1, node)
        self._slots += len(node)

    def finish(self, num_nodes: int) -> None:
        """Write the offsets of the remaining nodes, and the end of the last one."""
        self._write_up_to(num_nodes + 1, np.zeros(0, np.int64))

    def _write_up_to(self, stop: int, node: NDArray[np.int64]) -> None:
        for start in range(self._writer.length, stop, _CHUNK):
            wanted = np.arange(start, min(start + _CHUNK, stop))
            self._writer.write(self._slots + np.searchsorted(node, wanted))
