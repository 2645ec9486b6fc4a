"""What all tasks of an ingest have in common: the input, how it is read, and where they work."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gtea.cluster.node_facts import reading_facts, require_same_node
from gtea.cluster.part_files import DamagedFileError, PartFile
from gtea.cluster.tasks import made_by, part_path
from gtea.cluster.work_folder import read_job
from gtea.errors import DataError
from gtea.ingestion.sources import Scan, Source, open_file
from gtea.ingestion.staging import Staged, stage_events
from gtea.ingestion.time_facts import TimeFacts
from gtea.ingestion.time_plan import TimePlan, plan_times
from gtea.ingestion.workbench import Workbench
from gtea.runtime.files import draft_folder
from gtea.runtime.json_shape import Either, Every, Natural
from gtea.store.schema import EventShape, Schema

COLUMNS, TIMES, CHECK, CUT, SEAMS = "columns", "times", "check", "cut", "seams"
_PLAN = {
    "expression": str, "unit": str, "input_unit": str, "rounded": Natural, "notes": [str], "reaches_end": bool,
}  # fmt: skip


class IngestGrain(NamedTuple):
    """How finely an ingest in parts is cut. It changes no byte of the store."""

    ids: int = 1 << 16
    """How many ids are checked by one digest, and found by one look."""
    rows: int = 1 << 10
    """Of so many rows, one shows where parts should begin."""


@dataclass(frozen=True)
class IngestJob:
    """The job of a folder."""

    folder: Path
    content: dict[str, Any]

    @property
    def schema(self) -> Schema:
        """How the input is read."""
        return Schema.from_json(self.content["schema"])

    @property
    def shape(self) -> EventShape:
        """The internal names of the columns of an event."""
        return self.schema.columns.shape

    @property
    def grain(self) -> IngestGrain:
        """How finely it is cut."""
        return IngestGrain(*self.content["grain"])

    @property
    def paths(self) -> list[Path]:
        """The input files, in order."""
        return [Path(name) for name, *_ in self.content["inputs"]]

    @property
    def record(self) -> np.dtype[Any]:
        """A row of events: ``lo`` and ``hi`` are numbers of accounts, ``r`` is the place in the input."""
        plain = [("lo", "<i4"), ("hi", "<i4"), ("t", "<i8"), ("r", "<i8"), ("reverse", "|u1")]
        numbers = [(name, "<f4") for name in self.shape.features]
        return np.dtype([*plain, *numbers, *((name, "<i4") for name in self.shape.categorical)])

    @contextmanager
    def workbench(self, name: str, inputs: Sequence[Path] = ()) -> Iterator[tuple[Workbench, Path]]:
        """DuckDB for a task, and its scratch folder."""
        threads = os.environ.get("OMP_NUM_THREADS", "")
        with (
            self.scratch(name) as scratch,
            Workbench(
                scratch,
                inputs=inputs,
                memory=self.content["memory"],
                threads=int(threads) if threads.isdecimal() else None,
            ) as bench,
        ):
            yield bench, scratch

    @contextmanager
    def scratch(self, name: str) -> Iterator[Path]:
        """A folder for a task, deleted at the end. What a killed one has left is deleted by who does its work again."""
        with draft_folder(part_path(self.folder, name)) as scratch:
            yield scratch

    def source(self, bench: Workbench, number: int) -> Source:
        """An input file, opened. It must be what it was when the job began."""
        schema, (name, *stamp) = self.schema, self.content["inputs"][number]
        wanted, delimiter = schema.columns.all, schema.delimiter
        source = open_file(bench, Path(name), wanted=wanted, declared=schema.format, delimiter=delimiter)
        if list(source.stamp) != stamp:
            raise DataError(f"{source.name}: was changed since the job began. Delete {self.folder} and begin again.")
        return source

    def staged(self, bench: Workbench, number: int, scan: Future[Scan]) -> Staged:
        """A file read into table ``staged``."""
        types = made_by(self.folder, COLUMNS).fact("types", Every(str))
        jodie = self.schema.format == "jodie"
        return stage_events(bench, [self.source(bench, number)], [scan], self.schema.columns, jodie=jodie, types=types)

    @property
    def times_named(self) -> str:
        """The column of times in messages."""
        return f"{self.paths[0].name}, column {self.schema.columns.time!r}"

    def plan(self, times: TimeFacts) -> TimePlan:
        """How times are converted."""
        return plan_times(
            times,
            made_by(self.folder, COLUMNS).fact("types", Every(str))["t"],
            subject=self.times_named,
            time_unit=self.schema.time_unit,
            timezone=self.schema.timezone,
            allow_any_date=self.content["allow_any_date"],
        )


def open_ingest(folder: Path) -> IngestJob:
    """The job of a folder, on a node that must read as the one did that began it."""
    content = read_job(folder)
    require_same_node(content["node"], reading_facts())
    return IngestJob(folder, content)


def plan_of(file: PartFile) -> TimePlan | None:
    """How times are converted, as a task has found; None if it could not tell."""
    found = file.fact("plan", Either(_PLAN, None))
    return None if found is None else TimePlan(**{**found, "notes": tuple(found["notes"])})


def times_of(folder: Path) -> TimePlan:
    """How times are converted."""
    file = made_by(folder, TIMES)
    plan = plan_of(file)
    if plan is None:  # the task refuses what it can't plan
        raise DamagedFileError(file.path, "has no plan of times")
    return plan


def events_of(folder: Path, number: int) -> PartFile:
    """What is known of a file's events: as it was read first or, where that was not enough, as it was read again."""
    again = made_by(folder, f"reread.{number}")
    return again if "bad" in again.facts else made_by(folder, f"read.{number}")
