"""The rows of a query make the store that a file with the same rows makes, with the same checks."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.conftest import array_bytes
from tests.postgres import PASSWORD, Postgres

from gtea.errors import DataError, UsageError
from gtea.ingestion import query_result
from gtea.ingestion.append import append
from gtea.ingestion.ingest import ingest
from gtea.ingestion.query_result import DatabaseQuery, QueryRows
from gtea.runtime.progress import no_progress
from gtea.store.store import Store
from gtea.store.verify import verify

COLUMNS: dict[str, Any] = {"src": "payer", "dst": "payee", "time": "booked", "features": ["amount"]}


def payments(rows: int = 500, seed: int = 0) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "payer": [f"A{number:03}" for number in draw.integers(0, 40, rows)],
            "payee": [f"Bü{number}" for number in draw.integers(0, 40, rows)],
            "booked": draw.integers(1_600_000_000, 1_700_000_000, rows),
            "amount": draw.lognormal(3, 2, rows),
            "channel": [("card", "wire", None)[number] for number in draw.integers(0, 3, rows)],
        }
    )


def sqlite_of(path: Path, create: str, rows: Sequence[Sequence[Any]]) -> str:
    """A table in a new SQLite file; returns the file's address."""
    with sqlite3.connect(path) as connection:
        connection.execute(create)
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO payments VALUES ({marks})", rows)
    connection.close()
    return f"sqlite:///{path}"


def sqlite_table(path: Path, table: pa.Table) -> str:
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return sqlite_of(path, f"CREATE TABLE payments ({', '.join(table.column_names)})", rows)


def test_a_query_makes_the_store_of_a_file(postgres: Postgres, tmp_path: Path) -> None:
    table = payments(40_000)
    pq.write_table(table, tmp_path / "e.parquet")
    postgres.fill("payments", table)
    columns = {**COLUMNS, "categorical": ["channel"]}
    of_file = ingest(tmp_path / "e.parquet", out=tmp_path / "file", **columns)
    addresses = (postgres.address, sqlite_table(tmp_path / "e.db", table))
    for number, address in enumerate(addresses):
        store = ingest(address, query="SELECT * FROM payments -- all\n;", out=tmp_path / f"s{number}", **columns)
        assert array_bytes(store) == array_bytes(of_file)
        assert store.report == of_file.report
        (source,) = store.manifest.sources
        assert source["rows"] == 40_000
        assert verify(store.path, no_progress) == []
        assert PASSWORD not in (store.path / "manifest.json").read_text()


@pytest.mark.parametrize("kind", ["numeric(20,4)", "double precision", "text", "real", "integer", "boolean"])
def test_any_type_of_number_is_a_feature(postgres: Postgres, tmp_path: Path, kind: str) -> None:
    number = "true" if kind == "boolean" else "12"
    query = f"SELECT 1::bigint AS payer, 2::smallint AS payee, DATE '2024-01-02' AS booked, {number}::{kind} AS amount"
    store = ingest(postgres.address, query=query, out=tmp_path / "s", **COLUMNS)
    assert store.arrays.event_features.tolist() == [[1.0 if kind == "boolean" else 12.0]]


def test_ids_and_times_of_postgresql(postgres: Postgres, tmp_path: Path) -> None:
    query = (
        "SELECT '00123'::char(8) AS payer, 123456789012345678901::numeric AS payee, "
        "'6f9619ff-8b86-d011-b42d-00cf4fc964ff'::uuid AS other, '2024-03-01 10:00:00.25+02'::timestamptz AS booked"
    )
    columns: dict[str, Any] = {"src": "payer", "dst": "payee", "time": "booked"}
    store = ingest(postgres.address, query=query, out=tmp_path / "s", **columns)
    assert sorted(store.account(node) for node in range(2)) == ["00123   ", "123456789012345678901"]
    assert store.date(int(store.arrays.event_time[0])) == "2024-03-01T08:00:00.250000Z"
    store = ingest(postgres.address, query=query, out=tmp_path / "t", **{**columns, "dst": "other"})
    assert store.node("6f9619ff-8b86-d011-b42d-00cf4fc964ff") >= 0


def test_bad_rows_are_reported_by_their_number_in_the_result(
    postgres: Postgres, tmp_path: Path, gtea: Callable[..., Any]
) -> None:
    rows = [("a", "b", "2024-01-01", "1"), ("c", "", "2024-01-02", "2"), ("d", "e", "soon", "3"), ("f", None, "1", "x")]
    table = pa.table(list(map(pa.array, zip(*rows, strict=True))), ["payer", "payee", "booked", "amount"])
    postgres.fill("bad", table)
    pq.write_table(table, tmp_path / "e.parquet")
    of_file = ingest(tmp_path / "e.parquet", out=tmp_path / "f", bad_rows="quarantine", **COLUMNS)
    lite = sqlite_of(tmp_path / "e.db", "CREATE TABLE payments (payer, payee, booked, amount)", rows)
    for name, address, query in (
        ("p", postgres.address, "SELECT * FROM bad"),
        ("l", lite, "SELECT * FROM payments ORDER BY rowid"),
    ):
        with pytest.raises(DataError, match=r"row 2, column 'payee': an account id must not be empty"):
            ingest(address, query=query, out=tmp_path / name, **COLUMNS)
        store = ingest(address, query=query, out=tmp_path / name, bad_rows="quarantine", **COLUMNS)
        assert store.report["dropped"] == of_file.report["dropped"] == {"missing_id": 2, "bad_time": 1}
        quarantined = (tmp_path / f"{name}.bad_rows.csv").read_text().splitlines()
        assert [line.split(",")[1] for line in quarantined[1:]] == ["2", "3", "4"]


def test_infinity_is_no_time(postgres: Postgres, tmp_path: Path) -> None:
    for kind in ("timestamp", "timestamptz", "date"):
        query = f"SELECT 'a' AS payer, 'b' AS payee, x::{kind} AS booked, 1 AS amount FROM (VALUES ('infinity'), "
        query += "('-infinity'), ('2024-01-01')) AS v (x)"
        store = ingest(postgres.address, query=query, out=tmp_path / "s", bad_rows="skip", overwrite=True, **COLUMNS)
        assert store.report["dropped"] == {"missing_time": 2}
        assert store.date(store.end - 1) == "2024-01-01T00:00:00Z"


def test_sqlite_values_of_any_type_are_read_exactly(tmp_path: Path) -> None:
    rows = [(1, "01", 1700000000.123456, 9007199254740993), ("x", b"\xff", "1700000001", None), (None, 2, 3, 4)]
    rows = [(None, None, None, None)] * 2000 + rows
    address = sqlite_of(tmp_path / "e.db", "CREATE TABLE payments (payer, payee, booked, amount)", rows)
    store = ingest(address, query="SELECT * FROM payments", out=tmp_path / "s", bad_rows="skip", **COLUMNS)
    assert {store.account(node) for node in range(store.num_nodes)} == {"1", "01"}
    assert store.report["dropped"] == {"missing_id": 2001, "bad_feature": 1}
    assert store.date(store.end - 1) == "2023-11-14T22:13:20.123456Z"


def with_broken_text(folder: Path) -> tuple[str, str]:
    """Seven rows: the second, the fifth and the sixth have text that is not UTF-8, the fourth no time."""
    address = sqlite_of(folder / "e.db", "CREATE TABLE payments (payer)", [("a",)])
    rows = ["'x', 'y', 1", "CAST(x'61ff' AS TEXT), 'y', 1", "'x', 'z', 2", "'x', 'y', 'soon'"]
    rows += ["'x', CAST(x'ed' AS TEXT), 5", "CAST(x'ff' AS TEXT), CAST(x'ff' AS TEXT), 5", "'x', 'y', 7"]
    named = "SELECT payer, payee, booked, 1 AS amount FROM (SELECT '' AS payer, '' AS payee, 0 AS booked WHERE 0 "
    return address, named + "".join(f"UNION ALL SELECT {row} " for row in rows) + ")"


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    address, query = with_broken_text(tmp_path)
    with pytest.raises(DataError) as found:
        ingest(address, query=query, out=tmp_path / "s", time_unit="step", **COLUMNS)
    assert found.value.lines[:-1] == (
        "e.db, row 2, column 'payer': text must be UTF-8 (got 'a\ufffd')",
        "e.db, row 4, column 'booked': a time must be a number or an ISO 8601 date (got 'soon')",
        "e.db, row 5, column 'payee': text must be UTF-8 (got '\ufffd')",
        "e.db, row 6, column 'payer': text must be UTF-8 (got '\ufffd')",
    )
    assert not (tmp_path / "s").exists()


def test_rows_whose_text_is_not_utf8_are_left_out_and_counted(tmp_path: Path) -> None:
    address, query = with_broken_text(tmp_path)
    store = ingest(address, query=query, out=tmp_path / "s", bad_rows="quarantine", time_unit="step", **COLUMNS)
    report = store.manifest.data_report
    assert (report["rows_in"], report["rows_kept"]) == (7, 3)
    assert report["dropped"] == {"broken_text": 3, "bad_time": 1}
    with (tmp_path / "s.bad_rows.csv").open(newline="") as lines:
        written = [(row["row"], row["reason"], row["record"]) for row in csv.DictReader(lines)]
    assert [(row, reason) for row, reason, _ in written] == [
        ("2", "broken_text"), ("4", "bad_time"), ("5", "broken_text"), ("6", "broken_text"),
    ]  # fmt: skip
    assert written[0][2] == '["a\ufffd", "y", "1", "1"]'


def test_too_many_rows_whose_text_is_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_result, "_MOST_BROKEN", 2)
    address, query = with_broken_text(tmp_path)
    with pytest.raises(
        DataError, match=r"e\.db: text must be UTF-8 \(got more than 2 rows in which it is not, the fir"
    ):
        ingest(address, query=query, out=tmp_path / "s", bad_rows="skip", **COLUMNS)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT * FROM nowhere", "nowhere"),
        ("SELECT 1; SELECT 2", r"multiple commands|syntax error"),
        ("SELECT 'a' AS payer, 'b' AS payee, 1 AS booked", "has no column 'amount'"),
        ("SELECT 'a' AS payer, 'b' AS payee, 1 AS booked, 2 AS amount, 3 AS amount", "more than one column|has no"),
        ("DELETE FROM payments RETURNING *", r"syntax error"),
        ("ATTACH 'other.db' AS other", "syntax error"),
        (" ; ", "must not be empty"),
    ],
)
def test_a_query_that_can_not_be_used(postgres: Postgres, tmp_path: Path, query: str, message: str) -> None:
    postgres.fill("payments", payments(3))
    for address in (postgres.address, sqlite_table(tmp_path / "e.db", payments(3))):
        if "3 AS amount" in query and address.startswith("sqlite"):
            continue  # SQLite names the second one amount:1
        with pytest.raises((UsageError, DataError), match=message) as found:
            ingest(address, query=query, out=tmp_path / "s", **COLUMNS)
        assert len(str(found.value).splitlines()) == 1
        assert PASSWORD not in str(found.value)
    assert not (tmp_path / "other.db").exists()


def test_a_query_that_fails_on_its_way_leaves_nothing(postgres: Postgres, tmp_path: Path) -> None:
    query = "SELECT 'a' || i AS payer, 'b' AS payee, i AS booked, 1 / (150000 - i) AS amount "
    query += "FROM generate_series(1, 200000) i"
    with pytest.raises(DataError, match=r"stopped after [\d,]+ rows \(division by zero\)") as found:
        ingest(postgres.address, query=query, out=tmp_path / "s", **COLUMNS)
    assert PASSWORD not in str(found.value)
    assert not (tmp_path / "s").exists()


def test_a_type_that_is_no_value_is_refused(postgres: Postgres, tmp_path: Path) -> None:
    for value, kind in (("'{1}'::int[]", "_int4"), ("'\\x00'::bytea", "bytea"), ("'1 day'::interval", "interval")):
        query = f"SELECT 'a' AS payer, 'b' AS payee, 1 AS booked, {value} AS amount"
        with pytest.raises(DataError, match=rf"column 'amount': must be text, numbers or times \(got type {kind}\)"):
            ingest(postgres.address, query=query, out=tmp_path / "s", **COLUMNS)


def test_a_database_needs_a_query_and_a_query_a_database(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("payer,payee,booked,amount\n")
    with pytest.raises(UsageError, match="--query: must be given"):
        ingest("sqlite:///a.db", out=tmp_path / "s", **COLUMNS)
    with pytest.raises(UsageError, match="goes with the address of one database"):
        ingest(tmp_path / "e.csv", query="SELECT 1", out=tmp_path / "s", **COLUMNS)
    with pytest.raises(UsageError, match="are about files"):
        ingest("sqlite:///a.db", query="SELECT 1", delimiter=";", out=tmp_path / "s", **COLUMNS)


def test_append_reads_queries_and_knows_what_it_has_read(postgres: Postgres, tmp_path: Path) -> None:
    table = payments(1000)
    postgres.fill("payments", table)
    pq.write_table(table, tmp_path / "all.parquet")
    early, late = (
        "SELECT * FROM payments WHERE booked < 1650000000",
        "SELECT * FROM payments WHERE booked >= 1650000000",
    )
    ingest(postgres.address, query=early, out=tmp_path / "s", **COLUMNS)
    grown = append(tmp_path / "s", postgres.address, query=late, once=True)
    assert array_bytes(grown) == array_bytes(ingest(tmp_path / "all.parquet", out=tmp_path / "all", **COLUMNS))
    for query in (early, late):
        again = append(tmp_path / "s", postgres.address, query=query, once=True)
        assert again.manifest.folder == grown.manifest.folder
    postgres.run("UPDATE payments SET amount = amount + 1 WHERE booked >= 1650000000")
    changed = append(tmp_path / "s", postgres.address, query=late, once=True)
    assert changed.num_events > grown.num_events


def test_the_digest_of_rows_does_not_depend_on_their_batches(tmp_path: Path) -> None:
    rows = (
        QueryRows(DatabaseQuery("sqlite:///a.db", "SELECT 1")),
        QueryRows(DatabaseQuery("sqlite:///a.db", "SELECT 1")),
    )
    table = payments(50_000).select(["payer", "channel"])
    for reading, size in zip(rows, (777, 30_000), strict=True):
        for batch in table.to_batches(max_chunksize=size):
            reading._digest_by_blocks(batch)
    one, other = (reading.described()["sha256"] for reading in rows)
    assert one == other
    assert one != QueryRows(DatabaseQuery("sqlite:///a.db", "SELECT 1")).described()["sha256"]


def test_no_password_in_any_file_or_output(postgres: Postgres, tmp_path: Path, gtea: Callable[..., Any]) -> None:
    postgres.fill("payments", payments(100))
    words = ("--src", "payer", "--dst", "payee", "--time", "booked", "--out", tmp_path / "s")
    printed = []
    for address, query in (
        (postgres.address, "SELECT * FROM payments"),
        (postgres.address, "SELECT * FROM nowhere"),
        (postgres.address.replace("postgres:", "mysql:").replace("postgresql", "mysql"), "SELECT 1"),
        (f"postgresql://gtea:{PASSWORD}@x@{postgres.server}/postgres", "SELECT 1"),
        (f"postgresql://gtea:{PASSWORD}@127.0.0.1:1/postgres", "SELECT 1"),
        (f"postgresql:///postgres?host=127.0.0.1&port={postgres.port}&user=nobody&password={PASSWORD}", "SELECT 1"),
    ):
        for more in ((), ("--json",), ("--debug",)):
            outcome = gtea("ingest", address, "--query", query, *words, "--overwrite", *more)
            printed.append(outcome.out + outcome.err)
    for command in (
        ("ingest", postgres.address, *words),
        ("ingest", tmp_path / "s", postgres.address, "--nodes", postgres.address, *words),
        ("train", tmp_path / "s", "--labels", postgres.address, "--out", tmp_path / "m"),
        ("info", postgres.address),
        ("verify", postgres.address),
        ("info", tmp_path / "s", postgres.address),
        ("score", postgres.address, tmp_path / "s", "--out", tmp_path / "scores.csv"),
    ):
        for more in ((), ("--debug",)):
            outcome = gtea(*command, *more)
            assert outcome.code != 0
            printed.append(outcome.out + outcome.err)
    assert [text for text in printed if PASSWORD in text] == []
    assert len(Store.open(tmp_path / "s").manifest.sources) == 1
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]
    assert kept == []
