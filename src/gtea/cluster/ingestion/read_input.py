"""The tasks ``columns``, ``read``, ``times``, ``reread`` and ``check``: what is in the input files.

A file is read as if there were no other: its ids and words get numbers of its own, in the canonical order, so that they
compare as those of the whole will. Only how times are converted may depend on other files. So a file plans that alone,
too, and goes on with its own plan; it is read again if the plan of all files turns out to be another.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gtea.cluster.ingestion.ingest_job import TIMES, IngestJob, events_of, open_ingest, plan_of, times_of
from gtea.cluster.packed_rows import RowFile, file_pieces, packed
from gtea.cluster.part_files import Arrays, Pieces
from gtea.cluster.tasks import Made, made_by
from gtea.errors import GteaError
from gtea.ingestion.bad_rows import BadRowsFound, in_order_of_rules, refuse_bad_rows, write_quarantine
from gtea.ingestion.build import create_keyed_view, create_vocabularies
from gtea.ingestion.keys import create_id_keys, integers_are_keys
from gtea.ingestion.sources import Scan
from gtea.ingestion.staging import Staged, check_events, common_id_type, create_clean_view, staged_types
from gtea.ingestion.time_facts import MergedTimes, StagedTimes, TimeFact
from gtea.ingestion.time_plan import TimePlan
from gtea.ingestion.workbench import Workbench
from gtea.runtime.json_shape import Either, Every, Natural
from gtea.store.layout import vocabulary_name
from gtea.store.strings import StringTable, table_of

_SCAN = {"described": Every(Either(str, int)), "rows": Either(int, None)}


def columns(folder: Path, arguments: dict[str, Any]) -> Made:
    """The types as which all files can be read."""
    job = open_ingest(folder)
    with job.workbench("columns", job.paths) as (bench, _):
        sources = [job.source(bench, number) for number in range(len(job.paths))]
        id_type = common_id_type(sources, job.schema.columns, [], "")
        return {}, {"types": staged_types(sources, job.schema.columns, id_type)}


@contextlib.contextmanager
def read(folder: Path, arguments: dict[str, Any]) -> Iterator[Made]:
    """Read a file, and plan its times as if it were the only one."""
    job, number = open_ingest(folder), arguments["file"]
    with job.workbench(f"read.{number}", [job.paths[number]]) as (bench, scratch):
        scan: Future[Scan] = Future()
        scan.set_result(job.source(bench, number).scan())
        staged, times = job.staged(bench, number, scan), StagedTimes(bench, job.times_named)
        plan: TimePlan | None = None
        with contextlib.suppress(GteaError):  # the plan of all files may be another; if it isn't, it is refused there
            plan = job.plan(times)
        found, arrays = _events_in(job, bench, scratch, staged, plan) if plan is not None else ({}, {})
        described = {
            "scan": dataclasses.asdict(scan.result()),
            "answers": times.answers,
            "plan": None if plan is None else dataclasses.asdict(plan),
        }
        yield arrays, {**described, **found}


def times(folder: Path, arguments: dict[str, Any]) -> Made:
    """Plan the times of all files, from what each of them has answered."""
    job = open_ingest(folder)
    known = [made_by(folder, name).fact("answers", Every(list)) for name in arguments["reads"]]

    def ask_file(number: int, facts: Sequence[TimeFact]) -> Sequence[Any]:
        with job.workbench(TIMES, [job.paths[number]]) as (bench, _):
            job.staged(bench, number, _scanned(folder, number))
            return StagedTimes(bench, job.times_named).ask(*facts)

    return {}, {"plan": dataclasses.asdict(job.plan(MergedTimes(known, ask_file)))}


@contextlib.contextmanager
def reread(folder: Path, arguments: dict[str, Any]) -> Iterator[Made]:
    """Read a file again if the plan of all files is not its own."""
    job, number = open_ingest(folder), arguments["file"]
    plan, own = times_of(folder), plan_of(made_by(folder, f"read.{number}"))
    if own is not None and own.expression == plan.expression:
        yield {}, {}
        return
    with job.workbench(f"reread.{number}", [job.paths[number]]) as (bench, scratch):
        staged = job.staged(bench, number, _scanned(folder, number))
        found, arrays = _events_in(job, bench, scratch, staged, plan)
        yield arrays, found


def check(folder: Path, arguments: dict[str, Any]) -> Made:
    """Refuse bad rows, or write them down; count what all files have."""
    job, counts = open_ingest(folder), Counter[str]()
    files = [events_of(folder, number) for number in range(len(job.paths))]
    for file in files:
        counts.update(file.fact("bad", Every(Natural)))
    if job.content["bad_rows"] == "error":
        refuse_bad_rows([line for file in files for line in file.fact("messages", [str])], counts.total())
    quarantine = Path(job.content["quarantine"])
    written = job.content["bad_rows"] == "quarantine" and counts.total() > 0
    if written:
        write_quarantine((json.loads(line) for file in files for line in _lines(file.read("bad_rows"))), quarantine)
    return {}, {
        "rows_in": sum(file.fact("rows_in", Natural) for file in files),
        "bad": in_order_of_rules(counts),
        "self_loops": sum(file.fact("self_loops", Natural) for file in files),
        "quarantine": quarantine.name if written else None,
        "sources": [made_by(folder, name).fact("scan", _SCAN)["described"] for name in arguments["reads"]],
    }


def _scanned(folder: Path, number: int) -> Future[Scan]:
    """What the bytes of a file have told when it was read first."""
    scan: Future[Scan] = Future()
    scan.set_result(Scan(**made_by(folder, f"read.{number}").fact("scan", _SCAN)))
    return scan


def _events_in(
    job: IngestJob, bench: Workbench, scratch: Path, staged: Staged, plan: TimePlan
) -> tuple[Mapping[str, Any], Arrays]:
    """The events of a staged file, and what became of its rows."""
    bad = check_events(bench, staged, plan)
    facts: dict[str, Any] = {
        "rows_in": sum(item.rows_in for item in staged.loaded),
        "bad": bad.counts,
        "messages": bad.first_messages(),
        "self_loops": 0,
    }
    arrays: dict[str, Any] = {}
    if bad.total and job.content["bad_rows"] == "error":
        return facts, arrays
    if job.content["bad_rows"] == "quarantine":
        arrays["bad_rows"] = _as_lines(bad)
    create_clean_view(bench, staged, plan, bad.good)
    facts["self_loops"] = int(bench.row("SELECT count(*) FILTER (WHERE src = dst) FROM clean")[0])
    create_id_keys(bench, with_node_table=False, text=not integers_are_keys(bench, staged.types["src"]))
    create_vocabularies(bench, job.shape)
    keep = job.schema.self_loops == "keep"
    create_keyed_view(bench, job.shape, text=True, directed=job.schema.directed, keep_self_loops=keep)
    arrays["rows"], arrays["sample"] = _write_rows(job, bench, scratch)
    words = [vocabulary_name(column) for column in range(len(job.shape.categorical))]
    for name, sql in [("ids", "SELECT id::VARCHAR FROM id_keys ORDER BY key")] + [
        (name, f"SELECT word FROM {name} ORDER BY code") for name in words
    ]:
        blocks = _write_strings(bench, scratch / name, sql, job.grain.ids)
        facts[f"{name}_fences"] = blocks.fences
        arrays |= blocks.arrays(name)
    return facts, arrays


def _write_rows(job: IngestJob, bench: Workbench, scratch: Path) -> tuple[Pieces, NDArray[np.int32]]:
    """The rows of a file, with its own numbers of accounts, and the pairs of some of them."""
    names, sample = job.record.names or (), list[NDArray[np.int32]]()
    order = "ORDER BY r" if job.content["sorted_parts"] else ""
    with RowFile(scratch / "rows", job.record) as file:
        for batch in bench.stream(f"SELECT {', '.join(names)} FROM keyed {order}"):
            rows = packed({name: batch.column(name).to_numpy() for name in names}, job.record)
            file.add(rows)
            some = rows[rows["r"] % job.grain.rows == 0]
            sample.append(np.stack([some["lo"], some["hi"]], axis=1))
    return file.group(), np.concatenate([np.empty((0, 2), np.int32), *sample])


class _Blocks:
    """Strings in order, in a scratch file, in blocks of which each is an array with its own digest."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ends: list[NDArray[np.int64]] = []
        self._sizes: list[int] = []
        self.fences: list[str] = []
        """The first string of each block."""

    def add(self, table: StringTable) -> None:
        """Append a block."""
        with self._path.open("ab") as stream:
            stream.write(table.data.data)
        self._ends.append(table.offsets[1:])
        self._sizes.append(len(table.data))
        self.fences.append(table[0])

    def arrays(self, name: str) -> Arrays:
        """The arrays of a task: the bytes of each block, and where its strings end."""
        found, before = dict[str, Any](), 0
        for number, (ends, size) in enumerate(zip(self._ends, self._sizes, strict=True)):
            found[f"{name}_bytes.{number}"] = file_pieces(self._path, np.dtype(np.uint8), first=before, count=size)
            found[f"{name}_ends.{number}"] = ends
            before += size
        return found


def _write_strings(bench: Workbench, path: Path, sql: str, block: int) -> _Blocks:
    blocks = _Blocks(path)
    for batch in bench.stream(sql):
        strings = batch.column(0).cast(pa.large_string())
        for start in range(0, len(strings), block):
            blocks.add(table_of(strings.slice(start, block)))
    return blocks


def _as_lines(bad: BadRowsFound) -> NDArray[np.uint8]:
    """The cells of all bad rows, as JSON lines."""
    return np.frombuffer("".join(json.dumps(row.cells()) + "\n" for row in bad.each()).encode(), np.uint8)


def _lines(content: NDArray[np.uint8]) -> list[str]:
    return content.tobytes().decode().splitlines()
