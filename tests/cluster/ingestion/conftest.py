"""Files of events with all that can go wrong in parts, and an ingest of them that was stopped before its end."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cluster.conftest import InThisProcess

from gtea.cluster.ingestion.ingest_job import IngestGrain
from gtea.cluster.ingestion.ingest_parts import ingest_on
from gtea.cluster.tasks import FileTask
from gtea.ingestion.ingest import ingest
from gtea.store.store import Store

FINE = IngestGrain(ids=3, rows=2)
"""So fine that a few rows have many blocks."""
EVENTS: dict[str, Any] = {
    "src": "src", "dst": "dst", "time": "time", "features": ["amount"], "categorical": ["kind"], "memory": "400MB",
}  # fmt: skip


def written(folder: Path, files: Sequence[Sequence[Sequence[Any]]], *, parquet: bool = False) -> list[Path]:
    """The files of events."""
    paths, names = [], ["src", "dst", "time", "amount", "kind"]
    for number, rows in enumerate(files):
        paths.append(folder / f"events-{number}.{'parquet' if parquet else 'csv'}")
        if parquet:
            columns: Any = list(zip(*rows, strict=True)) or [[]] * 5
            table = pa.table({name: pa.array(column, pa.string()) for name, column in zip(names, columns, strict=True)})
            pq.write_table(table, paths[-1])
        else:
            paths[-1].write_text("\n".join([",".join(names), *(",".join(row) for row in rows)]) + "\n")
    return paths


def content(store: Path) -> dict[str, Any]:
    """Every byte of a store, but when it was made."""
    found: dict[str, Any] = {}
    for path in sorted(store.rglob("*")):
        if path.is_file():
            found[str(path.relative_to(store))] = path.read_bytes()
    manifest = json.loads(found["manifest.json"])
    del manifest["created"], manifest["sha256"]
    found["manifest.json"] = json.dumps(manifest)  # in the order of the file
    return found


def hub_files(folder: Path) -> list[Path]:
    """One account is in nearly all events, one pair has most of them, and ids differ in length and beginning."""
    rng = random.Random(1)
    files = []
    for _ in range(3):
        rows = [("0", "1", str(rng.randrange(50)), "1", "x") for _ in range(300)]
        rows += [("0", f"account-{rng.randrange(300)}", str(rng.randrange(50)), "2", "y") for _ in range(200)]
        rows += [(f"z{'z' * rng.randrange(9)}", f"{rng.randrange(3)}", "7", "3", "z") for _ in range(20)]
        files.append(rows)
    return written(folder, files)


@dataclass(frozen=True)
class StoppedJob:
    """An ingest in three parts, stopped right before the store is put together."""

    folder: Path
    paths: list[Path]
    at_once: Store
    """The store that it would make."""


@pytest.fixture(scope="session")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> StoppedJob:
    folder = tmp_path_factory.mktemp("stopped")
    paths = hub_files(folder)

    def stop(task: FileTask, folder: Path) -> None:
        if task.name == "slots.2":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest_on(InThisProcess(stop), paths, out=folder / "s", parts=3, grain=FINE, time_unit="step", **EVENTS)
    at_once = ingest(paths, out=folder / "one", time_unit="step", **EVENTS)
    return StoppedJob(folder / "s.parts", paths, at_once)
