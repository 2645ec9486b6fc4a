"""``gtea ingest --on``: the tasks of an ingest, and its result."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from gtea.cluster.carriers import Carrier
from gtea.cluster.ingestion.ingest_job import CHECK, COLUMNS, CUT, SEAMS, TIMES, IngestGrain
from gtea.cluster.ingestion.link_slots import ends, slots
from gtea.cluster.ingestion.number_accounts import keys, number, words
from gtea.cluster.ingestion.publish_store import publish_store
from gtea.cluster.ingestion.read_input import check, columns, read, reread, times
from gtea.cluster.ingestion.scatter_events import cut, scatter
from gtea.cluster.ingestion.sort_events import seams, sort, take
from gtea.cluster.job_array import JobArray
from gtea.cluster.node_facts import reading_facts
from gtea.cluster.tasks import FileTask, made_by, name_of
from gtea.cluster.work_folder import JOB, delete_job, describe_job, parts_of
from gtea.errors import UsageError
from gtea.ingestion.bad_rows import BadRows
from gtea.ingestion.columns import check_event_columns
from gtea.ingestion.database_address import is_database
from gtea.ingestion.ingest import opened_with_notes, quarantine_of
from gtea.ingestion.ingest_request import Input, as_list, event_columns, label_columns_of
from gtea.ingestion.table_files import find_files
from gtea.ingestion.time_plan import stated_unit
from gtea.ingestion.workbench import parse_memory
from gtea.runtime.progress import Progress, no_progress
from gtea.store.publish import is_replaced
from gtea.store.schema import Format, Schema
from gtea.store.store import Store
from gtea.store.time_units import TimeUnit

_LAST = "publish"
_DEFAULT_GRAIN = IngestGrain()


def ingest_on(
    carrier: Carrier,
    inputs: Input | Sequence[Input],
    *,
    out: str | os.PathLike[str],
    src: str | None = None,
    dst: str | None = None,
    time: str | None = None,
    features: Sequence[str] = (),
    categorical: Sequence[str] = (),
    labels: str | os.PathLike[str] | None = None,
    time_unit: TimeUnit = "auto",
    timezone: str = "UTC",
    allow_any_date: bool = False,
    format: Format = "auto",
    delimiter: str | None = None,
    bad_rows: BadRows = "error",
    directed: bool = False,
    self_loops: Literal["drop", "keep"] = "drop",
    overwrite: bool = False,
    sorted_parts: bool = False,
    memory: str = "4GB",
    parts: int | None = None,
    work: Path | None = None,
    grain: IngestGrain = _DEFAULT_GRAIN,
    progress: Progress = no_progress,
) -> Store | None:
    """Build a store from files, as ``ingest`` does and to the same bytes, by tasks.

    Args:
        sorted_parts: Whether the rows of all files, one file after the other, are in the order of the store: by the
            lower account, the higher account and the time. Each file is then a part.
        memory: Of each worker.
        parts: How many parts to cut the events into; by default as many as there are workers, or as the folder has.
        work: The folder of the tasks' files; by default next to ``out``.

    Returns:
        The store; None if another process ends the job.
    """
    given = as_list(inputs)
    if any(not isinstance(each, str | os.PathLike) or is_database(each) for each in given):
        raise UsageError("--on: reads files (got a database or a frame). Write it to Parquet files first.")
    event = event_columns(given, format, src, dst, time, tuple(features), tuple(categorical))
    check_event_columns(event, label_columns_of(labels, []))
    unit = stated_unit(format, time_unit, timezone)
    schema = Schema(event, None, format, delimiter, unit, timezone, directed, self_loops)
    parse_memory(memory)
    path = Path(out).absolute()
    files = find_files([each for each in given if isinstance(each, str | os.PathLike)])
    folder = (work or path.with_name(f"{path.name}.parts")).absolute()
    if not (folder / JOB).exists():
        is_replaced(path, overwrite=overwrite)
    content: dict[str, Any] = {
        "format": "gtea-job",
        "format_version": 1,
        "kind": "ingest",
        "inputs": [[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in files],
        "schema": json.loads(json.dumps(schema.to_json())),  # as it is read again: lists instead of tuples
        "bad_rows": bad_rows,
        "quarantine": str(quarantine_of(path)),
        "allow_any_date": allow_any_date,
        "sorted_parts": sorted_parts,
        "overwrite": overwrite,
        "out": str(path),
        "memory": memory,
        "grain": list(grain),
        "parts": len(files) if sorted_parts else parts or parts_of(folder) or carrier.num_workers,
        "node": reading_facts(),
    }
    describe_job(folder, content)
    if not _finished(folder, path):
        tasks = list(_tasks(len(files), content["parts"], len(schema.columns.categorical), content))
        if not carrier.run(tasks, folder, progress):
            return None
    # Another job of an array may be started again, and must find that all is done.
    delete_job(folder, keep=(_LAST,) if isinstance(carrier, JobArray) else ())
    return opened_with_notes(path)


def _tasks(num_files: int, parts: int, num_words: int, content: dict[str, Any]) -> Iterator[FileTask]:
    """All tasks, each after those that it reads."""
    files = range(num_files)

    def each(stage: str, count: int) -> list[str]:
        return [f"{stage}.{place}" for place in range(count)]

    reads, rereads = each("read", num_files), each("reread", num_files)
    yield FileTask(COLUMNS, name_of(columns))
    for file in files:
        yield FileTask(reads[file], name_of(read), {"file": file}, (COLUMNS,))
    yield FileTask(TIMES, name_of(times), {"reads": reads}, (COLUMNS, *reads))
    for file in files:
        yield FileTask(rereads[file], name_of(reread), {"file": file}, (COLUMNS, TIMES, reads[file]))
    known = (*reads, *rereads)
    yield FileTask(CHECK, name_of(check), {"reads": reads}, known)
    numbers, coded = each("number", parts), each("words", num_words)
    for place in range(parts):
        yield FileTask(numbers[place], name_of(number), {"range": place, "ranges": parts}, (CHECK, *known))
    for column in range(num_words):
        yield FileTask(coded[column], name_of(words), {"column": column}, (CHECK, *known))
    of_file = each("keys", num_files)
    for file in files:
        after = (*numbers, reads[file], rereads[file])
        yield FileTask(of_file[file], name_of(keys), {"file": file, "numbers": numbers}, after)
    made = each("take" if content["sorted_parts"] else "sort", parts)
    if content["sorted_parts"]:
        for file in files:
            after = (of_file[file], *coded, reads[file], rereads[file])
            yield FileTask(made[file], name_of(take), {"file": file}, after)
    else:
        yield FileTask(CUT, name_of(cut), {"keys": of_file, "parts": parts}, tuple(of_file))
        scattered = each("scatter", num_files)
        for file in files:
            after = (CUT, of_file[file], *coded, reads[file], rereads[file])
            yield FileTask(scattered[file], name_of(scatter), {"file": file, "parts": parts}, after)
        for part in range(parts):
            yield FileTask(made[part], name_of(sort), {"part": part, "scattered": scattered}, tuple(scattered))
    yield FileTask(SEAMS, name_of(seams), {"parts": made, "ranges": parts}, tuple(made))
    spread, linked = each("ends", parts), each("slots", parts)
    for part in range(parts):
        arguments = {"part": part, "edges": made[part], "ranges": parts}
        yield FileTask(spread[part], name_of(ends), arguments, (SEAMS, made[part]))
    for place in range(parts):
        arguments = {"range": place, "ranges": parts, "ends": spread, "numbers": numbers}
        yield FileTask(linked[place], name_of(slots), arguments, (SEAMS, *spread, *numbers))
    arguments = {"out": content["out"], "parts": made, "slots": linked, "numbers": numbers, "words": coded}
    after = (CHECK, TIMES, SEAMS, *made, *linked, *numbers, *coded)
    yield FileTask(_LAST, name_of(publish_store), arguments, after)


def _finished(folder: Path, out: Path) -> bool:
    """Whether the store of the job is there. What says so is deleted if it isn't."""
    last = folder / f"{_LAST}.part"
    if not last.exists():
        return False
    if (out / "manifest.json").exists() and Store.open(out).digest == made_by(folder, _LAST).fact("digest", str):
        return True
    last.unlink()
    return False
