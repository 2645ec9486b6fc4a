"""Build the slots of every node from the edges, ordered by the edge's first event."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gtea.ingestion.array_writer import ArrayFolder
from gtea.ingestion.workbench import Workbench, zero_copy


def write_adjacency(
    bench: Workbench,
    arrays: ArrayFolder,
    num_nodes: int,
    a: NDArray[np.int32],
    b: NDArray[np.int32],
    first_time: NDArray[np.int64],
) -> None:
    """Write node_offset and the slot arrays. A self-loop gets one slot.

    With this order, a view finds the slots before its cut as a prefix by binary search, so a hub costs hardly more
    than a leaf. DuckDB does the sort, so the edges may be many times larger than memory.
    """
    edges = pa.table({"a": zero_copy(a), "b": zero_copy(b), "first": zero_copy(first_time)})
    bench.register("edge_arrays", edges)
    bench.run("CREATE OR REPLACE TABLE edges AS SELECT * FROM edge_arrays")
    slots = """
        SELECT node, neighbour, edge, first FROM (
            SELECT a AS node, b AS neighbour, rowid AS edge, first FROM edges
            UNION ALL SELECT b, a, rowid, first FROM edges WHERE a <> b)
        ORDER BY node, first, edge"""
    degrees = np.zeros(num_nodes, dtype=np.int64)
    writers = [arrays.open(name) for name in ("slot_neighbour", "slot_edge", "slot_first_time")]
    for batch in bench.stream(slots, "linking accounts"):
        node = batch.column(0).to_numpy()
        # The batch is ordered by node: count only the range of nodes that it spans.
        low = int(node[0])
        counts = np.bincount(node - low)
        degrees[low : low + len(counts)] += counts
        for writer, column in zip(writers, batch.columns[1:], strict=True):
            writer.write(column.to_numpy())
    arrays.write("node_offset", np.concatenate([[0], np.cumsum(degrees)]))
