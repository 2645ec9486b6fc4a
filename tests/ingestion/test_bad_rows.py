"""Bad input of every kind, from files on disk through the command line: exit code and message, never a traceback."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Run = Callable[..., Any]
HEADER = "src,dst,when,amount\n"
COLUMNS = ("--src", "src", "--dst", "dst", "--time", "when", "--features", "amount", "--time-unit", "step")


@pytest.fixture
def ingest(gtea: Run, tmp_path: Path) -> Run:
    """Writes a CSV file and ingests it."""

    def run(body: str | bytes, *options: str, name: str = "e.csv", columns: tuple[str, ...] = COLUMNS) -> Any:
        content = body.encode() if isinstance(body, str) else body
        (tmp_path / name).write_bytes(content)
        return gtea("ingest", tmp_path / name, *columns, "--out", tmp_path / "s", *options)

    return run


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (",b,1,2\n", "e.csv, row 2, column 'src': an account id must not be empty (got nothing)"),
        ('"",b,1,2\n', "e.csv, row 2, column 'src': an account id must not be empty"),
        ("a,,1,2\n", "e.csv, row 2, column 'dst': an account id must not be empty (got nothing)"),
        ("x" * 1025 + ",b,1,2\n", "column 'src': an account id must not be longer than 1024 bytes (got 'xxx"),
        ("a,b,,2\n", "e.csv, row 2, column 'when': a time must not be empty (got nothing)"),
        ("a,b,n/a,2\n", "e.csv, row 2, column 'when': a time must be a number or an ISO 8601 date (got 'n/a')"),
        ("a,b,1.5,2\n", "column 'when': a time must be a number or an ISO 8601 date (got '1.5')"),
        ("a,b,99999999999999999999,2\n", "column 'when': a time must be a number"),
        ("a,b,1,two\n", "e.csv, row 2, column 'amount': a feature must be a number (got 'two')"),
        ("a,b,1,\n", "e.csv, row 2, column 'amount': a feature must be a number (got nothing)"),
        ("a,b,1,nan\n", "e.csv, row 2, column 'amount': a feature must be a finite number within float32 (got 'nan')"),
        ("a,b,1,-inf\n", "a feature must be a finite number within float32 (got '-inf')"),
        ("a,b,1,1e39\n", "a feature must be a finite number within float32 (got '1e39')"),
        ("a,b,1\n", "e.csv, row 2: a line must have as many columns as the header (got 'a,b,1')"),
        ("a,b,1,2,3\n", "e.csv, row 2: a line must have as many columns as the header (got 'a,b,1,2,3')"),
        (b"a\xff,b,1,2\n", "e.csv, row 2: a line must be well-formed UTF-8 CSV"),
    ],
)
def test_a_bad_row_is_named_with_row_column_value_and_remedy(
    ingest: Run, tmp_path: Path, body: str | bytes, message: str
) -> None:
    good = b"a,b,1,2\n"
    content = HEADER.encode() + (body.encode() if isinstance(body, str) else body) + good
    outcome = ingest(content)
    assert outcome.code == 3
    assert message in outcome.err
    assert "1 bad rows in all. Fix them, or pass --bad-rows skip" in outcome.err
    assert not (tmp_path / "s").exists()
    assert ingest(content, "--bad-rows", "skip", "--json").code == 0


def test_rows_are_counted_as_an_editor_counts_lines(ingest: Run) -> None:
    body = HEADER + 'a,b,1,1\n\n"two\nlines",b,1,1\nshort\nc,d,bad,1\n\ne,f,worse,1\n'
    outcome = ingest(body)
    assert "e.csv, row 6: a line must have" in outcome.err
    assert "e.csv, row 7, column 'when': a time must be" in outcome.err
    assert "e.csv, row 9, column 'when': a time must be" in outcome.err
    assert "3 bad rows in all" in outcome.err


def test_the_first_ten_are_named_and_the_rest_counted(ingest: Run) -> None:
    outcome = ingest(HEADER + "a,b,1,1\n" + "a,b,x,1\n" * 25)
    assert outcome.err.count("a time must be a number") == 10
    assert "row 12, column" in outcome.err
    assert "... and 15 more" in outcome.err
    assert "25 bad rows in all" in outcome.err


def test_skipped_rows_are_counted_by_reason(ingest: Run, tmp_path: Path) -> None:
    body = HEADER + "a,b,1,1\n,b,1,1\n,,x,y\na,b,x,1\na,b,1,nan\nshort\na,a,1,1\n"
    outcome = ingest(body, "--bad-rows", "skip", "--json")
    report = json.loads(outcome.out)["data_report"]
    assert report["rows_in"] == 7
    assert report["rows_kept"] == 1
    assert report["dropped"] == {
        "missing_id": 2, "bad_time": 1, "non_finite_feature": 1, "wrong_columns": 1, "self_loop": 1,
    }  # fmt: skip
    assert json.loads((tmp_path / "s" / "data_report.json").read_text()) == report


def test_quarantined_rows_are_written_down(ingest: Run, tmp_path: Path) -> None:
    outcome = ingest(HEADER + 'a,b,1,1\na,"x,y",when?,1\nshort\n', "--bad-rows", "quarantine", "--json")
    assert json.loads(outcome.out)["data_report"]["quarantine"] == "s.bad_rows.csv"
    with (tmp_path / "s.bad_rows.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["file"], row["row"], row["column"], row["value"], row["reason"]) for row in rows] == [
        ("e.csv", "3", "when", "when?", "bad_time"),
        ("e.csv", "4", "", "", "wrong_columns"),
    ]
    assert rows[0]["record"] == '["a", "x,y", "when?", "1"]'
    assert rows[1]["record"] == "short"


def test_bad_rows_of_the_node_table_are_treated_alike(ingest: Run, tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("who,age\na,1\n,2\nb,old\n")
    nodes = ("--nodes", str(tmp_path / "n.csv"), "--node-id", "who", "--node-features", "age")
    outcome = ingest(HEADER + "a,b,1,1\n", *nodes)
    assert outcome.code == 3
    assert "n.csv, row 3, column 'who': an account id must not be empty" in outcome.err
    outcome = ingest(HEADER + "a,b,1,1\nx,y,z,1\n", *nodes, "--bad-rows", "quarantine", "--json")
    assert json.loads(outcome.out)["data_report"]["nodes"]["table_rows_dropped"] == 2
    with (tmp_path / "s.bad_rows.csv").open(newline="") as stream:
        assert [row["file"] for row in csv.DictReader(stream)] == ["e.csv", "n.csv", "n.csv"]


def test_an_open_quote_is_never_skipped_over(ingest: Run) -> None:
    outcome = ingest(HEADER + 'a,b,1,1\n"a,b,2,1\nc,d,3,1\n', "--bad-rows", "skip")
    assert outcome.code == 3
    assert "e.csv, row 3: a quote is opened and never closed" in outcome.err


@pytest.mark.parametrize(
    ("name", "content", "code", "message"),
    [
        ("e.csv", b"", 3, "e.csv: must start with a header line (got an empty file)"),
        ("e.csv.gz", b"not gzip", 3, "e.csv.gz: can't be read as CSV (Not a gzipped file"),
        ("e.csv.gz", gzip.compress(b"src,dst,when,amount\n" + b"a,b,1,2\n" * 9999, mtime=0)[:-30], 3, "can't be read"),
        ("e.parquet", b"PAR1 but not really", 3, "e.parquet: can't be read"),
        ("e.parquet.gz", b"x", 3, "a Parquet file must not be gzipped"),
        ("e.xlsx", b"x", 2, "e.xlsx: the file format can't be detected from the name. Pass --format"),
        ("e.csv", b"src;dst;when;amount\na;b;1;2\n", 0, ""),
        ("e.csv", b"\xef\xbb\xbfsrc,dst,when,amount\r\na,b,1,2\r\n", 0, ""),
        ("e.tsv", b"src\tdst\twhen\tamount\na\tb\t1\t2\n", 0, ""),
        ("e.csv", b"src,dst,when,amount\n", 0, ""),
        ("e.csv", b"Src,dst,when,amount\na,b,1,2\n", 2, "e.csv: has no column 'src'. Did you mean 'Src'?"),
        ("e.csv", b"src,src,dst,when,amount\na,a,b,1,2\n", 2, "e.csv: has no column 'src'"),
        ("e.csv", b"x,y\n1,2\n", 2, "e.csv: has no column 'src'. Its columns are: x, y."),
    ],
)
def test_files_of_every_kind(ingest: Run, name: str, content: bytes, code: int, message: str) -> None:
    outcome = ingest(content, name=name)
    assert (outcome.code, message in outcome.err) == (code, True), outcome.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.csv", *COLUMNS], "nowhere.csv: no such file"),
        (["none-*.csv", *COLUMNS], "none-*.csv: no such file. Check the path; a glob must match at least one file"),
        ([".", *COLUMNS], "is a folder, not a file"),
        (["e.csv", "--src", "src", "--dst", "dst"], "--time: must be given"),
        (["e.csv", "--src", "src", "--dst", "src", "--time", "when"], "must be three different columns"),
        (["e.csv", "e.csv", *COLUMNS], "e.csv: is given twice"),
        (["e.csv", *COLUMNS, "--memory", "lots"], "--memory: must be a size such as 4GB"),
        (["e.csv", *COLUMNS, "--memory", "1MB"], "--memory: must be at least 384MB"),
        (["e.csv", *COLUMNS, "--timezone", "Nowhere"], "--timezone: must be a time zone name"),
        (["e.csv", *COLUMNS, "--categorical", "amount"], "each column may be named once (got amount twice)"),
        (
            ["e.csv", "--src", "src", "--dst", "dst", "--time", "when", "--features", "src"],
            "an account id can't be a feature",
        ),
        (["e.csv", *COLUMNS, "--nodes", "e.csv"], "--node-id: must be given with --nodes"),
        (["e.csv", *COLUMNS, "--node-id", "x"], "--node-features: need --nodes FILE"),
        (["e.csv", *COLUMNS, "--nodes", "e.csv", "--node-id", "src"], "--node-features: must name at least one"),
        (["e.csv", *COLUMNS, "--format", "jodie"], "--format jodie: --src, --dst and --time are fixed"),
        (["e.csv", *COLUMNS, "--max-degree", "-1"], "must not be negative"),
        (["e.csv", *COLUMNS, "--time-unit", "weeks"], "'weeks' is not one of"),
        (["e.csv", *COLUMNS, "--frobnicate"], "No such option"),
    ],
)
def test_requests_that_can_not_be(
    gtea: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("e.csv").write_text(HEADER + "a,b,1,2\n")
    outcome = gtea("ingest", *words, "--out", "s")
    assert outcome.code in (2, 3)
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert not Path("s").exists()


def test_debug_shows_the_traceback(gtea: Run) -> None:
    assert "Traceback" not in gtea("info", "nowhere").err
    outcome = gtea("info", "nowhere", "--debug")
    assert "Traceback" in outcome.err
    assert outcome.code == 4


def test_terminal_escapes_in_the_data_are_spelt_out(ingest: Run) -> None:
    outcome = ingest(HEADER + "a,b,\x1b[2Jboo,1\n")
    assert "\x1b" not in outcome.err
    assert "\\x1b[2Jboo" in outcome.err


def test_parquet_rows_are_counted_from_one(gtea: Run, tmp_path: Path) -> None:
    table = pa.table({"src": ["a", None], "dst": ["b", "c"], "when": [1, 2], "amount": [1.0, float("nan")]})
    pq.write_table(table, tmp_path / "e.parquet")
    outcome = gtea("ingest", tmp_path / "e.parquet", *COLUMNS, "--out", tmp_path / "s")
    assert "e.parquet, row 2, column 'src': an account id must not be empty (got nothing)" in outcome.err


def test_file_names_with_glob_characters(ingest: Run) -> None:
    assert ingest(HEADER + "a,b,1,2\n", name="odd [1] *?'.csv").code == 0


def test_a_read_only_place_is_a_clear_error(gtea: Run, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(HEADER + "a,b,1,2\n")
    outcome = gtea("ingest", tmp_path / "e.csv", *COLUMNS, "--out", "/proc/s")
    assert outcome.code == 4
    assert "Traceback" not in outcome.err


@hypothesis.settings(max_examples=60)
@hypothesis.given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_rubbish_never_gives_a_traceback(ingest: Run, tmp_path: Path, body: bytes) -> None:
    outcome = ingest(HEADER.encode() + body, "--overwrite", "--bad-rows", "skip")
    assert outcome.code in (0, 3), outcome.err
    assert "bug" not in outcome.err
