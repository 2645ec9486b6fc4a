"""Every record of an input is counted once: whatever its length, and however many faults it has."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gtea.errors import DataError
from gtea.ingestion import source_loading, table_files
from gtea.ingestion.ingest import ingest
from gtea.ingestion.sources import Scan, Source
from gtea.store.store import Store

HEADER = b"src,dst,when\n"
GOOD = b"a,b,1\nc,d,2\n"
MIB = 1 << 20


def stored(folder: Path, content: bytes, name: str = "e.csv", **options: Any) -> Store:
    (folder / name).write_bytes(content)
    columns = {"src": "src", "dst": "dst", "time": "when", "time_unit": "step"}
    return ingest(folder / name, out=folder / "s", overwrite=True, **{**columns, "bad_rows": "skip", **options})


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"x" * (3 * MIB) + b",b,1", "long_line"),
        (b"x" * (5 * MIB), "long_line"),
        (b"x" * (33 * MIB) + b"\xff,b,1,9,9", "long_line"),
        (b"x," * (2 * MIB), "long_line"),
        (b"x," * 100_000, "wrong_columns"),
        (b'"' + b"a,b,1\n" * MIB + b'",b,1', "long_line"),
        (b"a\xff,b\xff,1,4,5", "broken_line"),
        (b'"a"x,b,1', "broken_line"),
        (b'"a"x,b,1,"b"y', "broken_line"),
        (b"short", "wrong_columns"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value[:12]!r}x{len(value)}",
)
def test_a_bad_record_is_counted_once_and_its_neighbours_stay(tmp_path: Path, record: bytes, reason: str) -> None:
    report = stored(tmp_path, HEADER + GOOD + record + b"\n" + GOOD).report
    assert (report["rows_in"], report["rows_kept"], report["dropped"]) == (5, 4, {reason: 1})


def test_a_long_line_is_named_and_written_down(tmp_path: Path) -> None:
    content = gzip.compress(HEADER + b'"two\nlines",b,1\n' + b"x" * (5 * MIB) + b"\n" + GOOD, 1)
    with pytest.raises(DataError, match=r"e\.csv\.gz, row 4: a line must not be longer than 2,000,000 bytes \(got 'xx"):
        stored(tmp_path, content, "e.csv.gz", bad_rows="error")
    stored(tmp_path, content, "e.csv.gz", bad_rows="quarantine")
    csv.field_size_limit(8 * MIB)
    with (tmp_path / "s.bad_rows.csv").open(newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert (row["row"], row["reason"], row["record"]) == ("4", "long_line", "x" * (5 * MIB))


def test_long_lines_of_snap_files(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_bytes(b"# c\n1 2 3\n" + b"x" * (33 * MIB) + b" 2 3\n\n 4 5 6\n")
    report = ingest(tmp_path / "e.txt", format="snap", bad_rows="skip", out=tmp_path / "s").report
    assert (report["rows_in"], report["dropped"]) == (3, {"long_line": 1})


def test_what_is_too_long_to_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "_LONGEST_LINE", 3 * MIB)
    with pytest.raises(DataError, match=r"e\.csv, row 4: a line must not be longer than 128 MiB\. Check the export"):
        stored(tmp_path, HEADER + GOOD + b"x" * (4 * MIB) + b"\n" + GOOD)
    with pytest.raises(DataError, match=r"e\.csv, row 4: a field must not be longer than 128 MiB\. Look for an open"):
        stored(tmp_path, HEADER + GOOD + b'"' + b"a,b,1\n" * MIB + b'"\n' + GOOD)


def test_quotes_that_both_parsers_can_read_are_kept(tmp_path: Path) -> None:
    assert stored(tmp_path, HEADER + b'5" pipe,b,1\n"a" ,b,2\n').report["rows_kept"] == 2


def test_a_row_that_the_reader_loses_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that leaves a row out without a word: Python's parser takes its place."""
    insert = source_loading._insert
    monkeypatch.setattr(
        source_loading,
        "_insert",
        lambda bench, table, source, rows: insert(bench, table, source, f"{rows} LIMIT 1" if "read_" in rows else rows),
    )
    report = stored(tmp_path, HEADER + GOOD).report
    assert (report["rows_in"], report["rows_kept"]) == (2, 2)


def test_a_parquet_file_must_have_the_rows_of_its_footer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"src": ["a"], "dst": ["b"], "when": [1]}), tmp_path / "e.parquet")
    monkeypatch.setattr(Source, "scan", lambda source: Scan({"name": source.name}, 7))
    with pytest.raises(DataError, match=r"e\.parquet: must hold as many rows as its footer says, 7 \(got 1\)"):
        stored(tmp_path, (tmp_path / "e.parquet").read_bytes(), "e.parquet")
