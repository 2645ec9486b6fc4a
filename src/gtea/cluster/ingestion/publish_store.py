"""The task ``publish``: the arrays of all parts one after the other, and the manifest: the store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.cluster.ingestion.ingest_job import CHECK, SEAMS, IngestJob, open_ingest, times_of
from gtea.cluster.ingestion.sort_events import TOTALS
from gtea.cluster.packed_rows import ROWS_AT_A_TIME
from gtea.cluster.part_files import PartFile
from gtea.cluster.tasks import Made, made_by
from gtea.errors import GteaError
from gtea.ingestion.array_writer import ArrayFolder
from gtea.ingestion.build import EventTotals
from gtea.ingestion.ingest import manifest_of
from gtea.ingestion.ledger import Ledger
from gtea.runtime.json_shape import Either, Every, Natural
from gtea.store.layout import NODE_IDS, vocabulary_name
from gtea.store.manifest import Manifest, read_manifest
from gtea.store.publish import next_folder, publish, scratch_for

_AS_THEY_ARE = (
    *("edge_a", "edge_b", "edge_first_time", "edge_last_time"),
    *("event_time", "event_reverse", "event_features", "event_categories"),
)
_BYTES_AT_A_TIME = 1 << 20
_SLOTS = ("slot_neighbour", "slot_edge", "slot_first_time")


def publish_store(folder: Path, arguments: dict[str, Any]) -> Made:
    """Write the store. Its digest is a fact."""
    job, out = open_ingest(folder), Path(arguments["out"])
    if not job.content["overwrite"] and (there := _there(job, out, arguments)) is not None:
        return {}, {"digest": there.digest}
    with scratch_for(out, overwrite=job.content["overwrite"]) as scratch:
        with ArrayFolder(scratch / "version") as arrays:
            _write_arrays(job, arrays, arguments)
            manifest = _manifest(job, next_folder(out), arguments, arrays.close())
        publish(out, scratch / "version", manifest)
    return {}, {"digest": manifest.digest}


def _write_arrays(job: IngestJob, arrays: ArrayFolder, names: dict[str, Any]) -> None:
    """Write every array, in the order of the parts."""
    parts, ranges = _files(job, names["parts"]), _files(job, names["slots"])
    seams = made_by(job.folder, SEAMS)
    for name in _AS_THEY_ARE:
        shape = parts[0].stored(name).shape
        writer = arrays.open(name, shape[1] if len(shape) == 2 else None)
        for rows in _rows(parts, name):
            writer.write(rows)
    for name in _SLOTS:
        writer = arrays.open(name)
        for rows in _rows(ranges, name):
            writer.write(rows)
    # An offset is what comes before: of a part, all but the last; it is the first of the next one.
    _write_offsets(arrays, "edge_offset", parts, "edge_offset", seams.read_list("events_before"))
    slots_before = np.cumsum([0, *(each.num_rows("slot_edge") for each in ranges)])
    _write_offsets(arrays, "node_offset", ranges, "node_offset", slots_before)
    tables = [NODE_IDS, *(vocabulary_name(column) for column in range(len(job.shape.categorical)))]
    groups = [_files(job, names["numbers"]), *([made_by(job.folder, name)] for name in names["words"])]
    for table, files in zip(tables, groups, strict=True):
        data, offsets = arrays.open(f"{table}_bytes"), arrays.open(f"{table}_offset")
        offsets.write(np.zeros(1, np.int64))
        for file in files:
            for ends in file.stream("ends", ROWS_AT_A_TIME):
                offsets.write(ends + data.length)
            for content in file.stream("bytes", _BYTES_AT_A_TIME):
                data.write(content)


def _write_offsets(
    arrays: ArrayFolder, name: str, files: Sequence[PartFile], source: str, before: NDArray[np.int64]
) -> None:
    writer, end = arrays.open(name), 0
    for file, start in zip(files, before, strict=False):
        left = file.num_rows(source) - 1
        for rows in file.stream(source, ROWS_AT_A_TIME):
            writer.write(rows[:left] + start)
            left -= len(rows)
            end = int(rows[-1] + start)
    writer.write(np.array([end]))


def _manifest(job: IngestJob, folder: str, names: dict[str, Any], arrays: dict[str, Any]) -> Manifest:
    checked, totals = made_by(job.folder, CHECK), made_by(job.folder, SEAMS).fact("totals", TOTALS)
    ledger = Ledger(
        rows_in=checked.fact("rows_in", Natural),
        bad=checked.fact("bad", Every(Natural)),
        self_loops=checked.fact("self_loops", Natural),
        self_loops_kept=job.schema.self_loops == "keep",
        quarantine=checked.fact("quarantine", Either(str, None)),
    )
    num_nodes = sum(each.fact("count", Natural) for each in _files(job, names["numbers"]))
    sources = checked.fact("sources", [Every(Either(str, int))])
    times = times_of(job.folder)
    return manifest_of(folder, num_nodes, EventTotals(**totals), times, job.schema, ledger, sources, arrays)


def _there(job: IngestJob, out: Path, names: dict[str, Any]) -> Manifest | None:
    """The manifest of the store that is there, if it is the one of this job, which was killed right after it."""
    try:
        found = read_manifest(out)
    except GteaError:
        return None
    wanted = _manifest(job, found.folder, names, found.arrays)
    told = ("counts", "time", "schema", "sources", "data_report", "gtea_version")
    same = (json.dumps([getattr(each, name) for name in told]) for each in (found, wanted))
    return found if len(set(same)) == 1 else None


def _files(job: IngestJob, names: Iterable[str]) -> list[PartFile]:
    return [made_by(job.folder, name) for name in names]


def _rows(files: Iterable[PartFile], name: str) -> Iterable[NDArray[Any]]:
    return (rows for file in files for rows in file.stream(name, ROWS_AT_A_TIME))
