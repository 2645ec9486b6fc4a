"""The private DuckDB: what it may touch, and how it fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from gtea.errors import DataError, UsageError
from gtea.ingestion.workbench import Workbench, largest_row_group, literal, parse_memory, quoted


def test_only_declared_inputs_can_be_opened(tmp_path: Path) -> None:
    declared, other = tmp_path / "declared.csv", tmp_path / "other.csv"
    declared.write_text("a\n1\n")
    other.write_text("a\n2\n")
    (tmp_path / "work").mkdir()
    with Workbench(tmp_path / "work", inputs=[declared]) as bench:
        assert bench.rows(f"SELECT * FROM read_csv({literal(str(declared))})") == [(1,)]
        for sql in (
            f"SELECT * FROM read_csv({literal(str(other))})",
            f"COPY (SELECT 1) TO {literal(str(tmp_path / 'out.csv'))}",
            f"ATTACH {literal(str(tmp_path / 'x.duckdb'))}",
            f"SELECT * FROM glob({literal(str(tmp_path / '*'))})",
        ):
            with pytest.raises(DataError, match="input: can't be read"):
                bench.rows(sql)
        for setting in ("enable_external_access = true", "allowed_paths = ['/']", "lock_configuration = false"):
            with pytest.raises(DataError):
                bench.run(f"SET {setting}")
    assert not (tmp_path / "out.csv").exists()


def test_more_rows_than_memory_spill_to_the_scratch_folder(tmp_path: Path) -> None:
    with Workbench(tmp_path, memory="384MB") as bench:
        sql = "SELECT hash(i) AS h, i FROM range(10_000_000) r(i) ORDER BY h"
        count, previous = 0, -1
        for batch in bench.stream(sql):
            first = batch.column(0)[0].as_py()
            assert first >= previous
            previous = batch.column(0)[-1].as_py()
            count += len(batch)
    assert count == 10_000_000


PEAK = """
import sys
from pathlib import Path
from gtea.ingestion.ingest import ingest
files, out, memory = sys.argv[1:]
ingest(files, src="src", dst="dst", time="t", features=["x"], time_unit="step", out=out, memory=memory)
print(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of one program")
def test_an_ingest_stays_within_its_memory(tmp_path: Path) -> None:
    """The interpreter and all libraries included. Here, the ids alone take 192 MB."""
    rows, limit = 1_200_000, 384_000_000
    text = "sha1((hash(i{}) % 300000)::VARCHAR) || repeat('x', 40)"
    duckdb.sql(
        f"COPY (SELECT {text.format('')} AS src, {text.format('+1')} AS dst, i AS t, 1.0::FLOAT AS x "
        f"FROM range({rows}) r(i)) TO '{tmp_path / 'e.parquet'}'"
    )
    words = [sys.executable, "-c", PEAK, str(tmp_path / "e.parquet"), str(tmp_path / "store"), f"{limit}B"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert 1024 * int(done.stdout.split()[1]) < limit


def test_row_groups_that_are_too_large_for_the_memory_are_told_before_anything_is_read(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    duckdb.sql(
        "SET preserve_insertion_order = false; "
        "COPY (SELECT hash(i) AS a, hash(i, 1) AS b, hash(i, 2) AS c, hash(i, 3) AS d, hash(i, 4) AS e "
        f"FROM range(2_000_000) r(i)) TO '{path}' (ROW_GROUP_SIZE 10_000_000)"
    )
    size = largest_row_group(duckdb.connect(), path)
    assert 75e6 < size < 85e6
    with pytest.raises(
        UsageError, match=r"--memory: must be at least 39\dMB for e.parquet, which has a row group of 80"
    ):
        Workbench(tmp_path, inputs=[path], memory="384MB")
    (tmp_path / "text").write_text("no Parquet")
    assert largest_row_group(duckdb.connect(), tmp_path / "text") == 0


@pytest.mark.parametrize(
    ("text", "size"), [("4GB", 4 * 10**9), ("512MiB", 2**29), ("1.5 gb", 15 * 10**8), ("400000000", 4 * 10**8)]
)
def test_sizes_of_memory(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "much", "4XB", "-4GB", "100MB", "383MB"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="--memory: must be"):
        parse_memory(text)


def test_names_and_texts_can_not_break_out_of_their_quotes(tmp_path: Path) -> None:
    name, text = 'a"; DROP TABLE t; --', "it's; --"
    with Workbench(tmp_path) as bench:
        bench.run(f"CREATE TABLE t ({quoted(name)} VARCHAR)")
        bench.run(f"INSERT INTO t VALUES ({literal(text)})")
        assert bench.rows(f"SELECT {quoted(name)} FROM t") == [(text,)]
