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


def written(folder: Path, *numbers: int) -> Path:
    """A log that was closed, so that all of it is in one file."""
    folder.mkdir()
    log = EventLog(folder, SCHEMA)
    log.accept([entry(str(number), number) for number in numbers])
    log._run("PRAGMA wal_checkpoint(TRUNCATE)")
    log.close()
    return folder / "events.sqlite"


def test_no_changed_byte_becomes_an_event(tmp_path: Path) -> None:
    numbers = range(1, 9)
    path = written(tmp_path / "log", *numbers)
    content, expected = path.read_bytes(), [row(number) for number in numbers]
    last = content.index(b"a8\\n") - 20
    places = {content.index(b"card"), *range(last, len(content), 23), *range(0, len(content), 397)}
    refused = 0
    for place in sorted(places):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(changed)
        try:
            assert EventLog(path.parent, SCHEMA).events(0, 99) == read_log(path.parent, 0, 99)[1] == expected, place
        except StoreError:
            refused += 1
    assert refused > len(numbers)


@pytest.mark.parametrize("change", [
    "UPDATE events SET event = replace(event, '0.2', '0.8') WHERE number = 2",
    "UPDATE events SET event = 17 WHERE number = 2",
    "UPDATE events SET number = 9 WHERE number = 3",
    "DELETE FROM events WHERE number = 2",
])  # fmt: skip
def test_changed_events_are_refused(tmp_path: Path, change: str) -> None:
    path = written(tmp_path / "log", 1, 2, 3)
    with sqlite3.connect(path) as database:
        database.execute(change)
    log = EventLog(path.parent, SCHEMA)
    with pytest.raises(StoreError, match=r"is damaged. Restore it from a backup. Event \d was changed, or is missing"):
        log.events(0, 99)
    with pytest.raises(StoreError, match="is damaged"):
        read_log(path.parent, 0, 99)


@pytest.mark.parametrize(("name", "value"), [("log", "0123456789abcdef"), ("forgotten", "x")])
def test_another_name_would_count_all_events_again(tmp_path: Path, name: str, value: str) -> None:
    path = written(tmp_path / "log", 1, 2, 3)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE about SET value = ? WHERE name = ?", (value, name))
    with pytest.raises(StoreError, match="is damaged"):
        EventLog(path.parent, SCHEMA)


def test_a_log_that_was_emptied_is_not_begun_again(tmp_path: Path) -> None:
    path = written(tmp_path / "log", 1, 2, 3)
    path.write_bytes(b"")
    with pytest.raises(StoreError, match="is no log of gtea serve"):
        EventLog(path.parent, SCHEMA)
    assert path.read_bytes() == b""


def test_what_is_no_log_is_left_as_it_is(tmp_path: Path) -> None:
    other = tmp_path / "mine.sqlite"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE mine (x)")
    content, link = other.read_bytes(), tmp_path / "events.sqlite"
    link.symlink_to(other)
    with pytest.raises(StoreError, match="is not a regular file"):
        EventLog(tmp_path, SCHEMA)
    link.unlink()
    other.rename(link)
    with pytest.raises(StoreError, match=r"is no log of gtea serve. Name another --log"):
        EventLog(tmp_path, SCHEMA)
    assert link.read_bytes() == content
