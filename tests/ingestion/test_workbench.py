"""The private DuckDB: what it may touch, and how it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from gtea.errors import DataError, UsageError
from gtea.ingestion.workbench import Workbench, literal, parse_memory, quoted


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
    with Workbench(tmp_path, memory="256MiB") as bench:
        sql = "SELECT hash(i) AS h, i FROM range(20000000) r(i) ORDER BY h"
        count, previous = 0, -1
        for batch in bench.stream(sql):
            first = batch.column(0)[0].as_py()
            assert first >= previous
            previous = batch.column(0)[-1].as_py()
            count += len(batch)
    assert count == 20_000_000


@pytest.mark.parametrize(
    ("text", "size"), [("4GB", 4 * 10**9), ("512MiB", 2**29), ("1.5 gb", 15 * 10**8), ("300000000", 3 * 10**8)]
)
def test_sizes_of_memory(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "much", "4XB", "-4GB", "100MB"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="--memory: must be"):
        parse_memory(text)


def test_names_and_texts_can_not_break_out_of_their_quotes(tmp_path: Path) -> None:
    name, text = 'a"; DROP TABLE t; --', "it's; --"
    with Workbench(tmp_path) as bench:
        bench.run(f"CREATE TABLE t ({quoted(name)} VARCHAR)")
        bench.run(f"INSERT INTO t VALUES ({literal(text)})")
        assert bench.rows(f"SELECT {quoted(name)} FROM t") == [(text,)]
