"""SNAP files: how lines are split, which are refused, and under which number they are reported."""

from __future__ import annotations

import csv
import gzip
import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest

from gtea.errors import DataError, UsageError
from gtea.ingestion.ingest import ingest
from gtea.ingestion.snap_files import SnapLayout, read_snap_layout
from gtea.ingestion.sources import Source, open_file
from gtea.ingestion.table_files import lines_of_records
from gtea.ingestion.workbench import Workbench

Run = Callable[..., Any]
Row = tuple[str | None, ...]
GOOD = "1 2 1254192988\n"


def naive_rows(text: str) -> dict[int, Row]:
    """Line -> the fields of the line, or the whole line if there are not three."""
    rows: dict[int, Row] = {}
    for number, line in enumerate(re.split("\r\n|\r|\n", text), start=1):
        fields = [field for field in line.replace("\t", " ").split(" ") if field]
        if fields and line[0] != "#":
            rows[number] = tuple(fields) if len(fields) == 3 else (line, None, None)
    return rows


def read_rows(folder: Path, content: bytes, name: str = "e.txt") -> tuple[Source, list[Row], int]:
    """The rows that DuckDB makes of a file, and how many more lines there are."""
    path = folder / name
    path.write_bytes(content)
    with Workbench(folder, inputs=[path]) as bench:
        source = open_file(bench, path, wanted=(), declared="snap", delimiter=None)
        rows = bench.rows(f"SELECT c0, c1, c2 FROM {source.relation}")
        counted = source.scan().rows
        # A file that ends in blanks is not counted in its bytes.
        return source, rows, counted - len(rows) if counted is not None else 0


def texts(characters: str) -> st.SearchStrategy[str]:
    return st.text(st.sampled_from(characters), min_size=1, max_size=60)


@hypothesis.settings(max_examples=200)
@hypothesis.given(texts(" \t \n\r\n#12ab\"',;|\\é\u2028\x0b\x1f\x00") | texts("\r\n 1#"))
@hypothesis.example("1 2 3\n4 5 6\r\n7 8 9\r1 1 1\n\r\n2 2 2")
@hypothesis.example("1 2 3\r\n4 5 6\r17 8 9\r\n")
@hypothesis.example("\r\r\n1 2 3")
@hypothesis.example(' 1\t \t2   3\t\n#1 2 3\n # 2 3\n1 #2 3\n"1 2\n\n   \n1 2 3 4')
def test_lines_are_split_and_numbered_as_by_plain_python(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, rows, rejected = read_rows(Path(folder), text.encode())
        expected = naive_rows(text)
        assert (rows, rejected) == (list(expected.values()), 0)
        assert source.path is not None
        assert lines_of_records(source.path, SnapLayout(), range(len(rows)), 0).accepted == list(expected)


@pytest.mark.parametrize("repeats", [1, 60_000])
def test_many_lines_keep_their_order(tmp_path: Path, repeats: int) -> None:
    """The long form is read by several threads, in several buffers."""
    block = "# a comment\n" + "".join(f"{i}  {i + 1}\t{1_254_192_988 + i} \n" for i in range(9)) + "\n"
    _, rows, _ = read_rows(tmp_path, gzip.compress((block * repeats).encode(), 1), "e.txt.gz")
    assert rows == [(str(i), str(i + 1), str(1_254_192_988 + i)) for i in range(9)] * repeats


def test_lines_that_can_not_be_read_are_counted_and_located(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf# first\n1 2 3\n4 \xff 6\n" + b"x" * 2_100_000 + b" 2 3\n7 8 9\n"
    source, rows, rejected = read_rows(tmp_path, content)
    assert (rows, rejected) == ([("1", "2", "3"), ("7", "8", "9")], 2)
    assert source.path is not None
    found = lines_of_records(source.path, SnapLayout(), [0, 1], 2)
    assert (found.accepted, found.rejected) == ([2, 5], [3, 4])


def test_files_that_are_empty_or_cut_off_are_refused(tmp_path: Path) -> None:
    (tmp_path / "e.txt").touch()
    with pytest.raises(DataError, match=r"e\.txt: a SNAP file must have lines of source, target, seconds \(got an em"):
        read_snap_layout(tmp_path / "e.txt")
    (tmp_path / "e.txt.gz").write_bytes(b"1 2 3\n")
    with pytest.raises(DataError, match=r"e\.txt\.gz: can't be read as text \(Not a gzipped file"):
        read_snap_layout(tmp_path / "e.txt.gz")
    (tmp_path / "e.txt.gz").write_bytes(gzip.compress(GOOD.encode() * 99_999, mtime=0)[:-30])
    with pytest.raises(DataError, match="can't be read"):
        ingest(tmp_path / "e.txt.gz", format="snap", out=tmp_path / "s")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 2", "e.txt, row 3: a line must have three fields: source, target, seconds (got '1 2')"),
        ("1\t2  3 4", r"e.txt, row 3: a line must have three fields: source, target, seconds (got '1\t2  3 4')"),
        ("1,2,3", "e.txt, row 3: a line must have three fields: source, target, seconds (got '1,2,3')"),
        ("1 2 noon", "row 3, column 'timestamp': a time must be a number or an ISO 8601 date (got 'noon')"),
        ("x" * 1025 + " 2 3", "row 3, column 'source': an account id must not be longer than 1024 bytes (got 'xxx"),
    ],
)
def test_a_bad_line_is_named(gtea: Run, tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "e.txt").write_text(f"# comment\n\n{line}\n{GOOD}")
    outcome = gtea("ingest", tmp_path / "e.txt", "--format", "snap", "--out", tmp_path / "s")
    assert outcome.code == 3
    assert message in outcome.err
    assert "1 bad rows in all. Fix them, or pass --bad-rows skip" in outcome.err
    assert not (tmp_path / "s").exists()


def test_bad_lines_of_two_files_are_counted_and_written_down(gtea: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(GOOD.encode() + b"# no\n7\n1 \xff 2\n3 3 1254192989\n")
    (tmp_path / "b.txt").write_text("\n4 5 noon\n" + GOOD + "1 2 3 4\n")
    words = ("--format", "snap", "--out", tmp_path / "s", "--bad-rows", "quarantine", "--json")
    report = json.loads(gtea("ingest", tmp_path / "a.txt", tmp_path / "b.txt", *words).out)["data_report"]
    assert (report["rows_in"], report["rows_kept"]) == (7, 2)
    assert report["dropped"] == {"wrong_fields": 2, "bad_time": 1, "broken_line": 1, "self_loop": 1}
    with (tmp_path / "s.bad_rows.csv").open(newline="") as stream:
        rows = [(row["file"], row["row"], row["reason"], row["record"]) for row in csv.DictReader(stream)]
    assert rows == [
        ("a.txt", "3", "wrong_fields", "7"),
        ("a.txt", "4", "broken_line", "1 ? 2"),
        ("b.txt", "2", "bad_time", '["4", "5", "noon"]'),
        ("b.txt", "4", "wrong_fields", "1 2 3 4"),
    ]


@pytest.mark.parametrize("option", ["src", "dst", "time", "features", "categorical"])
def test_column_options_are_refused(tmp_path: Path, option: str) -> None:
    (tmp_path / "e.txt").write_text(GOOD)
    options: dict[str, Any] = {option: ["x"] if option in ("features", "categorical") else "x"}
    with pytest.raises(UsageError, match="--format snap: the columns are fixed"):
        ingest(tmp_path / "e.txt", format="snap", out=tmp_path / "s", **options)
