"""Damaged Parquet files: each is read, or refused with an error that names it. None kills the process."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gtea.errors import GteaError
from gtea.ingestion.ingest import ingest

ROWS = 60
READ, REFUSED = 10, 20
EXECUTIONS = 25


def seed_file(path: Path, compression: str, version: str) -> bytes:
    table = pa.table(
        {
            "src": [f"id{i % 7}" for i in range(ROWS)],
            "dst": [f"id{i % 5}" for i in range(ROWS)],
            "when": pa.array([1_600_000_000 + i for i in range(ROWS)], pa.timestamp("s")),
            "amount": [i / 7 for i in range(ROWS)],
        }
    )
    pq.write_table(table, path, compression=compression, data_page_version=version, row_group_size=25)
    return path.read_bytes()


def damaged(content: bytes, rng: random.Random) -> bytes:
    """The file cut off, or with bits, bytes or a stretch changed: in its footer or anywhere."""
    data = bytearray(content)
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    start = rng.randrange(rng.choice([0, footer]), len(data))
    stop = min(len(data), start + rng.randrange(1, 200))
    match rng.randrange(5):
        case 0:
            del data[start:]
        case 1:
            del data[start:stop]
        case 2:
            data[start:stop] = bytes(stop - start)
        case 3:
            data[start] ^= 1 << rng.randrange(8)
        case _:
            data[start] = rng.choice([0x00, 0x7F, 0x80, 0xFF])
    return bytes(data)


def ingest_in_a_child(path: Path, out: Path) -> int:
    """How the ingest of a file ended in a process of its own: READ, REFUSED, or the status of whatever else."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        options = {"src": "src", "dst": "dst", "time": "when", "features": ["amount"], "allow_any_date": True}
        store = ingest(path, out=out, overwrite=True, bad_rows="skip", **options)  # type: ignore[arg-type]
        code = READ if store.report["rows_in"] == ROWS else 2
    except GteaError as error:  # a UsageError if the name of a column was hit
        code = REFUSED if path.name in str(error) else 3
    finally:
        os._exit(code)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_damaged_parquet_files_are_named(tmp_path: Path) -> None:
    rng = random.Random(0)
    path = tmp_path / "e.parquet"
    seeds = [seed_file(path, compression, version) for compression in ("none", "gzip") for version in ("1.0", "2.0")]
    endings = []
    for _ in range(EXECUTIONS):
        path.write_bytes(damaged(rng.choice(seeds), rng))
        endings.append(ingest_in_a_child(path, tmp_path / "s"))
    assert set(endings) == {READ, REFUSED}


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_damaged_schema_does_not_abort_the_process(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    intact = seed_file(path, "none", "2.0")
    # The repetition type of a column: with one that is none, pyarrow ends the process at the column's statistics.
    path.write_bytes(intact.replace(b"%\x02\x18\x03src", b"%\x03\x18\x03src", 1))
    assert path.read_bytes() != intact
    assert ingest_in_a_child(path, tmp_path / "s") in {READ, REFUSED}
