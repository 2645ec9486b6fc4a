"""Scores as tables: one transaction, nobody else's table, and no password anywhere."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.postgres import PASSWORD, Postgres
from tests.small_files import small_files
from tests.training.test_baselines import CPU, node_run, payers, stored

from gtea.errors import StoreError, UsageError
from gtea.scoring.database_output import DatabaseTable
from gtea.scoring.table import score_accounts
from gtea.training.fit import train_task
from gtea.training.loop import no_report

HOSTILE = 'p_"; DROP TABLE kept; --'


def table(rows: int = 3) -> pa.Table:
    return pa.table(
        {
            "account": [f"=Ü{number}" for number in range(rows)],
            "score": [number / 7 for number in range(rows)],
            "rank": list(range(rows)),
            HOSTILE: [1e-300] * rows,
            "alert": [True] * rows,
            "late": pa.nulls(rows, pa.int64()),
        }
    )


def places(postgres: Postgres, folder: Path) -> list[tuple[str, Callable[[str], list[Any]]]]:
    def from_file(sql: str) -> list[Any]:
        with sqlite3.connect(folder / "out.db") as connection:
            rows = connection.execute(sql).fetchall()
        connection.close()
        return rows

    return [(f"{postgres.address}/scores", postgres.run), (f"sqlite:///{folder}/out.db/scores", from_file)]


@pytest.fixture(autouse=True)
def _empty(request: pytest.FixtureRequest) -> None:
    if "postgres" in request.fixturenames:
        request.getfixturevalue("postgres").run("DROP TABLE IF EXISTS scores, scores_changes CASCADE")


def test_a_table_is_made_and_then_replaced(postgres: Postgres, tmp_path: Path) -> None:
    for address, run in places(postgres, tmp_path):
        output = DatabaseTable(address)
        output.check_reachable()
        output.write({"": table(5000), "_changes": table(2)})
        assert run("SELECT count(*), max(rank) FROM scores") == [(5000, 4999)]
        output.write({"": table(3), "_changes": table(3).slice(0, 0)})
        found = [dict(zip(table().column_names, row, strict=True)) for row in run("SELECT * FROM scores ORDER BY rank")]
        assert found == table(3).to_pylist()
        assert run("SELECT count(*) FROM scores_changes") == [(0,)]
        assert PASSWORD not in output.name


def test_a_failure_undoes_everything(postgres: Postgres, tmp_path: Path) -> None:
    for address, run in places(postgres, tmp_path):
        output = DatabaseTable(address)
        output.write({"": table(3), "_changes": table(1)})
        with pytest.raises((StoreError, AttributeError)):
            output.write({"": table(9), "_changes": None})
        wrong = table(9).drop_columns(["late"])
        with pytest.raises(
            StoreError, match=r"table 'scores_changes' must have the columns .* It is left as it is"
        ) as found:
            output.write({"": table(9), "_changes": wrong})
        assert PASSWORD not in str(found.value)
        assert run("SELECT count(*) FROM scores") == [(3,)]


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    output = DatabaseTable(f"sqlite:///{tmp_path}/out.db/scores")
    output.write({"": table(3)})
    named = rf"{tmp_path}/out\.db: (No space left on device \(disk|Input/output error)"
    with pytest.raises(StoreError, match=named), small_files(20_000):
        output.write({"": table(5000)})
    with contextlib.closing(sqlite3.connect(tmp_path / "out.db")) as connection:
        assert connection.execute("SELECT count(*) FROM scores").fetchall() == [(3,)]


def test_a_value_that_the_database_refuses(postgres: Postgres) -> None:
    output = DatabaseTable(f"{postgres.address}/scores")
    output.write({"": pa.table({"account": ["a"]})})
    with pytest.raises(StoreError, match="invalid byte sequence") as found:
        output.write({"": pa.table({"account": ["b", "a\0b"]})})
    assert "\n" not in str(found.value)
    assert postgres.run("SELECT * FROM scores") == [("a",)]


def test_somebody_elses_table_is_left_alone(postgres: Postgres, tmp_path: Path) -> None:
    for address, run in places(postgres, tmp_path):
        DatabaseTable(address).write({"": pa.table({"customer": ["a"]})})
        with pytest.raises(StoreError, match=r"must have the columns account text|must have the columns account TEXT"):
            DatabaseTable(address).write({"": table()})
        assert run("SELECT * FROM scores") == [("a",)]


def test_rights_and_views_stay(postgres: Postgres) -> None:
    output = DatabaseTable(f"{postgres.address}/scores")
    output.write({"": table(1)})
    postgres.run("CREATE VIEW first AS SELECT account FROM scores", "CREATE INDEX ON scores (account)")
    output.write({"": table(4)})
    assert postgres.run("SELECT count(*) FROM first") == [(4,)]
    assert postgres.run("SELECT count(*) FROM pg_indexes WHERE tablename = 'scores'") == [(1,)]


def test_a_table_in_a_schema_and_with_an_odd_name(postgres: Postgres) -> None:
    postgres.run("CREATE SCHEMA IF NOT EXISTS risk")
    DatabaseTable(f"{postgres.address}/risk.sco%22res").write({"": table(2)})
    DatabaseTable(f"{postgres.address}/risk.sco%22res").write({"": table(3)})
    assert postgres.run('SELECT count(*) FROM risk."sco""res"') == [(3,)]
    with pytest.raises(StoreError, match='schema "nowhere" does not exist'):
        DatabaseTable(f"{postgres.address}/nowhere.scores").write({"": table(2)})
    with pytest.raises(UsageError, match="a name must not be longer than 63 bytes"):
        DatabaseTable(f"{postgres.address}/scores").write({"": pa.table({"p_" + "x" * 62: [1.0]})})


def test_a_place_that_can_not_be_reached_is_found_before_any_work(postgres: Postgres, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="password authentication failed"):
        DatabaseTable(f"postgresql://gtea:x@{postgres.server}/postgres/scores").check_reachable()
    with pytest.raises(StoreError, match="no such folder"):
        DatabaseTable(f"sqlite:///{tmp_path}/none/out.db/scores").check_reachable()
    DatabaseTable(f"sqlite:///{tmp_path}/out.db/scores").check_reachable()
    assert not (tmp_path / "out.db").exists()
    with pytest.raises(AttributeError):
        DatabaseTable(f"sqlite:///{tmp_path}/out.db/scores").write({"": None})
    assert not (tmp_path / "out.db").exists()


def test_the_command_writes_what_a_file_would_have(
    postgres: Postgres, tmp_path: Path, gtea: Callable[..., Any]
) -> None:
    store = stored(payers(), tmp_path / "s")
    train_task(node_run(store, tmp_path / "m", "tree", as_of=None), no_report)
    score_accounts(tmp_path / "m", store.path, tmp_path / "before.parquet", as_of="400", device=CPU)
    files = score_accounts(tmp_path / "m", store.path, tmp_path / "now.parquet", device=CPU)
    wanted = pq.read_table(tmp_path / "now.parquet").to_pylist()
    for address, run in places(postgres, tmp_path):
        words = ("score", tmp_path / "m", store.path, "--since", tmp_path / "before.parquet", "--json")
        done = gtea(*words, "--out", address)
        assert done.code == 0, done.err
        said = json.loads(done.out)
        assert PASSWORD not in done.out + done.err
        assert said["out"].endswith("/scores")
        assert said["alerts"] == files["alerts"]
        rows = run("SELECT * FROM scores ORDER BY rank")
        assert [dict(zip(wanted[0], row, strict=True)) for row in rows] == wanted
        ((count,),) = run("SELECT count(*) FROM scores_changes")
        assert count == said["changes"]["new"] + said["changes"]["risen"] + said["changes"]["fallen"]
        wrong = gtea("score", tmp_path / "m", store.path, "--out", address.replace(PASSWORD, f"{PASSWORD}@"))
        assert wrong.code != 0 or "sqlite" in address
        assert PASSWORD not in wrong.out + wrong.err
