"""The tasks ``ends`` and ``slots``: the edges of a part to both of their ends, and the slots of a range of accounts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gtea.cluster.ingestion.ingest_job import SEAMS, open_ingest
from gtea.cluster.packed_rows import ROWS_AT_A_TIME, RowFile, file_pieces, packed, packed_rows_of, registered
from gtea.cluster.tasks import Made, made_by
from gtea.ingestion.adjacency import write_slots
from gtea.ingestion.array_writer import ArrayFolder
from gtea.runtime.json_shape import Natural

_SLOT = np.dtype([("node", "<i4"), ("neighbour", "<i4"), ("edge", "<i8"), ("first", "<i8")])


@contextmanager
def ends(folder: Path, arguments: dict[str, Any]) -> Iterator[Made]:
    """The slots of a part's edges, in an array for each range of accounts."""
    job, part = open_ingest(folder), arguments["part"]
    seams = made_by(folder, SEAMS)
    first_nodes, edges = seams.read_list("first_nodes"), int(seams.read_list("edges_before")[part])
    source = made_by(folder, arguments["edges"])
    with job.scratch(f"ends.{part}") as scratch:
        streams = (source.stream(name, ROWS_AT_A_TIME) for name in ("edge_a", "edge_b", "edge_first_time"))
        with RowFile(scratch / "slots", _SLOT, arguments["ranges"]) as file:
            for a, b, first in zip(*streams, strict=True):
                edge = np.arange(edges, edges + len(a))
                edges += len(a)
                here = {"node": a, "neighbour": b, "edge": edge, "first": first}
                there = {"node": b, "neighbour": a, "edge": edge, "first": first}
                for rows in (packed(here, _SLOT), packed(there, _SLOT)[a != b]):
                    file.add(rows, np.searchsorted(first_nodes, rows["node"], side="right"))
        yield {f"slots.{number}": file.group(number) for number in range(arguments["ranges"])}, {}


@contextmanager
def slots(folder: Path, arguments: dict[str, Any]) -> Iterator[Made]:
    """The slots of a range of accounts, in order."""
    job, own = open_ingest(folder), arguments["range"]
    counts = [made_by(folder, name).fact("count", Natural) for name in arguments["numbers"]]
    bounds = [0, *made_by(folder, SEAMS).read_list("first_nodes").tolist()]
    # Some ranges may be empty: where the sample had an account several times.
    bounds += [sum(counts)] * (arguments["ranges"] + 1 - len(bounds))
    first, last = bounds[own], bounds[own + 1]
    with job.workbench(f"slots.{own}") as (bench, scratch), ArrayFolder(scratch / "arrays", durable=False) as arrays:
        files = (made_by(folder, name) for name in arguments["ends"])
        rows = (each for file in files for each in packed_rows_of(file, f"slots.{own}", _SLOT))
        relation = f"(SELECT node - {first} AS node, neighbour, edge, first FROM all_slots)"
        with registered(bench, "all_slots", rows, _SLOT):
            write_slots(bench, arrays, relation, last - first)
        made = {
            name: file_pieces(scratch / "arrays" / described["file"], np.dtype(described["dtype"]))
            for name, described in arrays.close().items()
        }
        yield made, {}
