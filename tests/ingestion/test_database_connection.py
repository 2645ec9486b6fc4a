"""Connections that read can't write, and whatever goes wrong is one line without a password."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.postgres import PASSWORD, Postgres, free_port

from gtea.errors import DataError, GteaError, StoreError
from gtea.ingestion.database_address import parse_address
from gtea.ingestion.database_connection import connected, driver_words, translated


def failure(address: str, *, writes: bool = False) -> GteaError:
    with pytest.raises(GteaError) as found, connected(parse_address(address), writes=writes):
        pass
    assert found.value.__cause__ is None
    assert found.value.__suppress_context__ or found.value.__context__ is None
    assert "\n" not in str(found.value)
    assert PASSWORD not in str(found.value)
    return found.value


def test_a_wrong_password(postgres: Postgres) -> None:
    error = failure(f"postgresql://gtea:{PASSWORD}x@{postgres.server}/postgres")
    assert isinstance(error, DataError)
    assert "password authentication failed" in str(error)
    assert isinstance(failure(f"postgresql://gtea:x@{postgres.server}/postgres", writes=True), StoreError)


def test_nobody_listens(postgres: Postgres) -> None:
    assert "Connection refused" in str(failure(f"postgresql://gtea:{PASSWORD}@127.0.0.1:{free_port()}/postgres"))


def test_no_such_database_and_no_such_host(postgres: Postgres) -> None:
    assert "does not exist" in str(failure(f"postgresql://gtea:{PASSWORD}@{postgres.server}/nowhere"))
    assert "host name" in str(failure(f"postgresql://gtea:{PASSWORD}@nowhere.invalid/postgres"))


def test_the_password_may_come_from_the_environment_or_a_file(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    address = parse_address(f"postgresql://gtea@{postgres.server}/postgres")
    assert "password" in str(failure(address.uri))
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with connected(address) as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)
    monkeypatch.delenv("PGPASSWORD")
    kept = tmp_path / "pgpass"
    kept.write_text(f"127.0.0.1:{postgres.port}:*:gtea:{PASSWORD}\n")
    kept.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(kept))
    with connected(address) as cursor:
        cursor.execute("SELECT 2")
        assert cursor.fetchone() == (2,)


def test_a_connection_that_reads_can_not_write(postgres: Postgres, tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "a.db").execute("CREATE TABLE a (b)").connection.close()
    for given in (postgres.address, f"sqlite:///{tmp_path}/a.db"):
        address = parse_address(given)
        with pytest.raises(DataError, match=r"read-?only"), connected(address) as cursor, translated(address, "fails"):
            cursor.execute("CREATE TABLE c (d integer)")


def test_what_is_not_committed_is_undone(postgres: Postgres, tmp_path: Path) -> None:
    for given in (postgres.address, f"sqlite:///{tmp_path}/a.db"):
        with connected(parse_address(given), writes=True) as cursor:
            cursor.execute("CREATE TABLE undone (d integer)")
        with connected(parse_address(given), writes=True) as cursor:
            cursor.execute("CREATE TABLE undone (d integer)")


def test_a_file_that_is_missing_or_no_database(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("account,label\n" * 100)
    assert "is not a database" in str(failure(f"sqlite:///{tmp_path}/a.db"))
    assert "no such file" in str(failure(f"sqlite:///{tmp_path}/b.db"))
    assert not (tmp_path / "b.db").exists()
    assert "can't be opened" in str(failure(f"sqlite:///{tmp_path}", writes=True))


def test_a_drivers_words_lose_prefixes_queries_and_passwords() -> None:
    address = parse_address(f"postgresql://me:{PASSWORD}@db/core")
    said = f"IO: [libpq] Failed to connect: FATAL:  no {PASSWORD}\nLINE 1: SELECT '{PASSWORD}'\n"
    assert driver_words(address, RuntimeError(said)) == "no ***"
    assert driver_words(address, RuntimeError("")) == "RuntimeError"
    assert "SELECT" not in driver_words(address, RuntimeError("IO: Failed to execute query 'SELECT 1': no"))


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(KeyError), translated(parse_address("sqlite:///a.db"), "fails"):
        raise KeyError("a bug of ours")
