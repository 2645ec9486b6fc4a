from __future__ import annotations

import sqlite3
import stat
import time
from pathlib import Path

import pytest

from gtea.errors import StoreError
from gtea.live.event_rows import EventRow
from gtea.service.event_log import Accepted, Entry, EventLog, OtherBodyError, read_log
from gtea.store.schema import EventColumns, Schema

SCHEMA = Schema(EventColumns("src", "dst", "time", ("amount",), ("kind",)), time_unit="s")


def row(number: int) -> EventRow:
    return EventRow(f"a{number}\n☃", "b", number * 10**9 + 1, [0.1 * number], ["card"])


def entry(key: str, *numbers: int) -> Entry:
    return Entry(key, repr(numbers).encode(), [row(number) for number in numbers])


def test_what_was_accepted_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    log = EventLog(tmp_path, SCHEMA)
    assert log.accept([entry("x", 1, 2), entry("y", 3)]) == [Accepted(1, 2, False), Accepted(3, 1, False)]
    name = log.name  # and no clean end
    again = EventLog(tmp_path, SCHEMA)
    assert (again.name, again.first, again.last) == (name, 1, 3)
    assert again.events(0, 10) == [row(1), row(2), row(3)]
    assert again.events(1, 1) == [row(2)]
    assert read_log(tmp_path, 1, 2) == (name, [row(2)])
    assert again.num_bytes > 0
    assert stat.S_IMODE((tmp_path / "events.sqlite").stat().st_mode) == 0o600


def test_a_key_that_comes_again_gets_its_first_numbers(tmp_path: Path) -> None:
    log = EventLog(tmp_path, SCHEMA)
    log.accept([entry("x", 1, 2)])
    found = log.accept([entry("x", 1, 2), entry("z", 9), entry("z", 9), entry("x", 7)])
    assert found[:3] == [Accepted(1, 2, True), Accepted(3, 1, False), Accepted(3, 1, True)]
    assert isinstance(found[3], OtherBodyError)
    assert log.last == 3


def test_every_commit_is_synced(tmp_path: Path) -> None:
    log = EventLog(tmp_path, SCHEMA)
    assert log._run("PRAGMA journal_mode") == [("wal",)]
    assert log._run("PRAGMA synchronous") == [(2,)]


def test_forgotten_events_leave_their_numbers(tmp_path: Path) -> None:
    log = EventLog(tmp_path, SCHEMA)
    log.accept([entry("x", *range(1, 6_001))])
    assert log.forget(6_000, 0.0)
    assert log.first == 5_001
    assert not log.forget(6_000, 0.0)
    assert (log.first, log.last) == (6_001, 6_000)
    again = EventLog(tmp_path, SCHEMA)
    assert again.accept([entry("x", *range(1, 6_001)), entry("y", 1)])[0] == Accepted(1, 6_000, True)
    assert again.events(6_000, 9) == [row(1)]
    assert not again.forget(6_000, time.time() + 1)
    assert again.accept([entry("y", 1)]) == [Accepted(6_002, 1, False)]
    again.skip_to(9_000)
    assert again.accept([entry("w", 1)]) == [Accepted(9_001, 1, False)]


def test_a_failure_leaves_nothing_of_any_request(tmp_path: Path) -> None:
    log = EventLog(tmp_path, SCHEMA)
    other = sqlite3.connect(tmp_path / "events.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    log._run("PRAGMA busy_timeout = 10")
    with pytest.raises(StoreError, match="can't be read or written"):
        log.accept([entry("x", 1)])
    other.execute("ROLLBACK")
    assert log.accept([entry("x", 1)]) == [Accepted(1, 1, False)]
    log.close()


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    log = EventLog(tmp_path, SCHEMA)
    (pages,) = log._run("PRAGMA page_count")[0]
    log._run(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="No space left"):
        log.accept([entry("x", *range(1, 3_000))])
    assert log.last == 0
    assert log.events(0, 10) == []


def test_a_log_of_something_else_is_refused(tmp_path: Path) -> None:
    EventLog(tmp_path, SCHEMA).close()
    with pytest.raises(StoreError, match="is the log of a store with other columns"):
        EventLog(tmp_path, Schema(EventColumns("src", "dst", "time"), time_unit="s"))
    database = sqlite3.connect(tmp_path / "events.sqlite")
    database.execute("UPDATE about SET value = '9' WHERE name = 'version'")
    database.commit()
    with pytest.raises(StoreError, match="another version"):
        EventLog(tmp_path, SCHEMA)
    database.execute("DELETE FROM about WHERE name = 'version'")
    database.commit()
    with pytest.raises(StoreError, match="is no log of gtea serve"):
        EventLog(tmp_path, SCHEMA)


def test_a_damaged_log_is_refused(tmp_path: Path) -> None:
    log = EventLog(tmp_path, SCHEMA)
    log.accept([entry("x", *range(1, 2_000))])
    log._run("PRAGMA wal_checkpoint(TRUNCATE)")
    log.close()
    path = tmp_path / "events.sqlite"
    content = bytearray(path.read_bytes())
    content[4_096:40_000] = b"\xff" * (40_000 - 4_096)
    path.write_bytes(bytes(content))
    with pytest.raises(StoreError):
        EventLog(tmp_path, SCHEMA)
