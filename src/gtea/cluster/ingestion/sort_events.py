"""The tasks ``sort``, ``take`` and ``seams``: the events and edges of a part, and how many come before it."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gtea.cluster.ingestion.ingest_job import IngestJob, open_ingest
from gtea.cluster.ingestion.scatter_events import numbered_rows
from gtea.cluster.packed_rows import arrow_reader, file_pieces, packed_rows_of, registered
from gtea.cluster.part_files import Arrays, Pieces
from gtea.cluster.tasks import Made, made_by
from gtea.errors import DataError
from gtea.ingestion.array_writer import ArrayFolder
from gtea.ingestion.build import BuiltEvents, EventTotals, write_events, write_sorted_events
from gtea.runtime.json_shape import Either, Natural

TOTALS = {
    "num_edges": Natural,
    "num_events": Natural,
    "first_time": Either(int, None),
    "last_time": Either(int, None),
    "duplicates": Natural,
}


@contextmanager
def sort(folder: Path, arguments: dict[str, Any]) -> Iterator[Made]:
    """Sort the events that all files have for a part."""
    job, part = open_ingest(folder), arguments["part"]
    with job.workbench(f"sort.{part}") as (bench, scratch), ArrayFolder(scratch / "arrays", durable=False) as arrays:
        files = (made_by(folder, name) for name in arguments["scattered"])
        rows = (each for file in files for each in packed_rows_of(file, f"rows.{part}", job.record))
        with registered(bench, "events", rows, job.record):
            built = write_events(bench, arrays, job.shape, "events", scratch)
        yield _described(job, arrays, built)


@contextmanager
def take(folder: Path, arguments: dict[str, Any]) -> Iterator[Made]:
    """The events of a file that is said to be in order. Refuses one that isn't."""
    job, number = open_ingest(folder), arguments["file"]
    with job.scratch(f"take.{number}") as scratch, ArrayFolder(scratch / "arrays", durable=False) as arrays:
        built = write_sorted_events(_in_order(job, number), arrays, job.shape, scratch)
        yield _described(job, arrays, built)


def seams(folder: Path, arguments: dict[str, Any]) -> Made:
    """How many events and edges come before each part, and the accounts with which ranges of slots begin."""
    parts = [made_by(folder, name) for name in arguments["parts"]]
    totals = [EventTotals(**part.fact("totals", TOTALS)) for part in parts]
    ends = [(part.fact("first_pair", [int]), part.fact("last_pair", [int])) for part in parts]
    filled = [(number, pairs) for number, pairs in enumerate(ends) if pairs[0]]
    for (_, earlier), (number, later) in itertools.pairwise(filled):
        if later[0] <= earlier[1]:
            raise _out_of_order(open_ingest(folder), number, "begins where the file before it has not ended")
    nodes = np.sort(np.concatenate([part.read_list("node_sample") for part in parts]))
    ranges = arguments["ranges"]
    firsts = np.unique(nodes[np.arange(1, ranges) * len(nodes) // ranges]) if len(nodes) else nodes
    first = [each.first_time for each in totals if each.first_time is not None]
    last = [each.last_time for each in totals if each.last_time is not None]
    numbers = np.array([[each.num_events, each.num_edges] for each in totals], dtype=np.int64)
    whole = EventTotals(
        num_edges=int(numbers[:, 1].sum()),
        num_events=int(numbers[:, 0].sum()),
        first_time=min(first, default=None),
        last_time=max(last, default=None),
        duplicates=sum(each.duplicates for each in totals),
    )
    before = np.cumsum(numbers, axis=0) - numbers
    return (
        {"events_before": before[:, 0], "edges_before": before[:, 1], "first_nodes": firsts},
        {"totals": dataclasses.asdict(whole)},
    )


def _described(job: IngestJob, arrays: ArrayFolder, built: BuiltEvents) -> Made:
    """The arrays of a part. The ends of edges are final: accounts have been numbered."""
    made: dict[str, NDArray[Any] | Pieces] = {}
    for name, described in arrays.close().items():
        width = described["shape"][1] if len(described["shape"]) == 2 else None
        file = arrays.file(name)
        made[name] = file_pieces(file.path, file.dtype, width, count=described["shape"][0])
    low, high = (end.file for end in built.ends)
    made |= {name: file_pieces(end.path, end.dtype) for name, end in (("edge_a", low), ("edge_b", high))}
    sample, pairs = list[NDArray[np.int64]](), list[list[int]]()
    before = 0
    for lows, highs in zip(low.parts(), high.parts(), strict=True):
        start = -before % job.grain.rows
        sample += [lows[start :: job.grain.rows], highs[start :: job.grain.rows]]
        pairs = [pairs[0] if pairs else [int(lows[0]), int(highs[0])], [int(lows[-1]), int(highs[-1])]]
        before += len(lows)
    made["node_sample"] = np.concatenate([np.empty(0, np.int64), *sample])
    totals = {field.name: getattr(built, field.name) for field in dataclasses.fields(EventTotals)}
    first_pair, last_pair = pairs or [[], []]
    found: Arrays = made
    return found, {"totals": totals, "first_pair": first_pair, "last_pair": last_pair}


def _in_order(job: IngestJob, number: int) -> Iterable[pa.RecordBatch]:
    """The events of a file, as they are."""
    last: NDArray[np.int64] | None = None
    for rows in numbered_rows(job, number):
        order = np.stack([rows["lo"].astype(np.int64) << 32 | rows["hi"], rows["t"]])
        joined = order if last is None else np.concatenate([last, order], axis=1)
        pairs, times = joined[:, :-1], joined[:, 1:]
        if ((times[0] < pairs[0]) | ((times[0] == pairs[0]) & (times[1] < pairs[1]))).any():
            raise _out_of_order(job, number, "is not in order")
        last = order[:, -1:]
        reader = arrow_reader([rows], job.record)
        wanted = ["lo", "hi", "t", "reverse", *job.shape.features, *job.shape.categorical]
        yield from (batch.select(wanted) for batch in reader)


def _out_of_order(job: IngestJob, number: int, what: str) -> DataError:
    return DataError(
        f"{job.paths[number].name}: {what}. With --sorted-parts, all rows, one file after another, must be in order of "
        "the lower account, the higher account and the time. Sort them, or leave --sorted-parts out."
    )
