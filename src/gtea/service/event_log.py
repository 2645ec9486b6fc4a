"""The log of accepted events: what is in it is on disk, in order, and stays until the store holds it.

SQLite in WAL mode with ``synchronous=FULL``: a commit returns after fsync. Requests that wait together are committed
together. Each request has a key, and a key that comes again gives the numbers that it was given at first: whoever gets
no answer sends again, and nothing is counted twice. SQLite has no digests, so each event has one here: what was changed
on the disk must not become part of the store. See docs/decisions/0038-service.md.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gtea.errors import StoreError
from gtea.live.event_rows import EventRow
from gtea.runtime.disk_errors import disk_error
from gtea.runtime.files import atomic_write
from gtea.runtime.plain_files import open_plain
from gtea.store.schema import Schema

_NAME = "events.sqlite"
_VERSION = "2"
_DAMAGED = "is damaged. Restore it from a backup."
_NO_LOG = "is no log of gtea serve. Name another --log."
_FORGET_AT_ONCE = 5_000
_PAGE = 4_096
_TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE events (number INTEGER PRIMARY KEY, event TEXT NOT NULL, digest BLOB NOT NULL);
CREATE TABLE requests (
    key BLOB PRIMARY KEY, body BLOB NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL, at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX requests_at ON requests (at);
"""


@dataclass(frozen=True)
class Entry:
    """The events of one request, to be accepted together."""

    key: str
    body: bytes
    """The digest of what was sent: the same key with another body is a mistake."""
    rows: Sequence[EventRow]


@dataclass(frozen=True)
class Accepted:
    """The numbers of a request's events: ``count`` of them, from ``first``."""

    first: int
    count: int
    repeated: bool
    """Whether the events were accepted before, under the same key."""


class OtherBodyError(Exception):
    """A key came again with another body."""


class EventLog:
    """The log of one store. One process writes to it; others may read it."""

    def __init__(self, folder: Path, schema: Schema) -> None:
        """Open the log in a folder, or make one.

        Args:
            schema: That of the store: the columns of events and the unit of their times.
        """
        self._path = folder / _NAME
        with self._disk():
            if not os.path.lexists(self._path):
                _make(self._path, schema)
            self._database = _connected(self._path)
            if ("about",) not in self._run("SELECT name FROM sqlite_master"):
                raise StoreError(f"{self._path}: {_NO_LOG}")
            self._run("PRAGMA journal_mode = WAL")
            self._run("PRAGMA synchronous = FULL")
            self._run("PRAGMA fullfsync = ON")
            if self._run("PRAGMA quick_check(1)") != [("ok",)]:
                raise StoreError(f"{self._path}: {_DAMAGED}")
        self._require(schema)
        self.name = self._about("log")
        """What tells this log from others."""
        (self.last,) = self._run("SELECT coalesce(max(number), 0) FROM events")[0]
        self.last = max(self.last, self._forgotten())
        """The number of the last event."""

    @property
    def first(self) -> int:
        """The number of the first event that is kept, or that will come next."""
        (found,) = self._run("SELECT min(number) FROM events")[0]
        return self.last + 1 if found is None else int(found)

    @property
    def num_bytes(self) -> int:
        """What the log takes on disk."""
        parts = (self._path, *(self._path.with_name(_NAME + end) for end in ("-wal", "-shm")))
        return sum(part.stat().st_size for part in parts if part.exists())

    def accept(self, entries: Sequence[Entry]) -> list[Accepted | OtherBodyError]:
        """Write the events of some requests, in order, and return when all are on disk."""
        answers: list[Accepted | OtherBodyError] = []
        last, now = self.last, int(time.time())
        with self._disk(), self._transaction():
            for entry in entries:
                key = hashlib.sha256(entry.key.encode()).digest()
                found = self._run("SELECT body, first, count FROM requests WHERE key = ?", key)
                if found:
                    same = found[0][0] == entry.body
                    answers.append(Accepted(found[0][1], found[0][2], repeated=True) if same else OtherBodyError())
                    continue
                numbered = [_numbered(last + 1 + i, row) for i, row in enumerate(entry.rows)]
                self._database.executemany("INSERT INTO events VALUES (?, ?, ?)", numbered)
                self._run("INSERT INTO requests VALUES (?, ?, ?, ?, ?)", key, entry.body, last + 1, len(numbered), now)
                answers.append(Accepted(last + 1, len(numbered), repeated=False))
                last += len(numbered)
        self.last = last
        return answers

    def events(self, after: int, most: int) -> list[EventRow]:
        """Up to so many events, in order, that come after a number."""
        with self._disk():
            return _rows(self._path, self._database, after, after + most)

    def forget(self, through: int, keys_before: float) -> bool:
        """Delete some events up to a number, which the store holds, and keys older than a time.

        Returns whether there is more to delete: a log is never held up for long.
        """
        with self._disk():
            (first,) = self._run("SELECT min(number) FROM events")[0]
            until = through if first is None else min(through, first + _FORGET_AT_ONCE - 1)
            with self._transaction():
                self._run("DELETE FROM events WHERE number <= ?", until)
                self._run("UPDATE about SET value = max(CAST(value AS INTEGER), ?) WHERE name = 'forgotten'", until)
                old = "SELECT key FROM requests WHERE at < ? LIMIT ?"
                self._run(f"DELETE FROM requests WHERE key IN ({old})", int(keys_before), _FORGET_AT_ONCE)
        return first is not None and until < through

    def skip_to(self, number: int) -> None:
        """Never give a number up to this one again: the store holds more events of this log than it has."""
        with self._disk(), self._transaction():
            self._run("UPDATE about SET value = ? WHERE name = 'forgotten'", str(number))
        self.last = number

    def close(self) -> None:
        """Close the log. What was accepted is on disk whether or not this is called."""
        self._database.close()

    def _require(self, schema: Schema) -> None:
        if self._about("version") != _VERSION:
            raise StoreError(
                f"{self._path}: is a log of another version of gtea. Stop that one after it has folded its events."
            )
        # By its name a store knows which of the events it holds: with another name, all would count again.
        if self._about("sha256") != _identity(self._about("log"), self._about("events")):
            raise StoreError(f"{self._path}: {_DAMAGED}")
        if self._about("events") != _described(schema):
            raise StoreError(
                f"{self._path}: is the log of a store with other columns or another unit of time. Name another --log."
            )

    def _forgotten(self) -> int:
        found = self._about("forgotten")
        if not found.isdecimal():
            raise StoreError(f"{self._path}: {_DAMAGED}")
        return int(found)

    def _about(self, name: str) -> str:
        with self._disk():
            found = self._run("SELECT value FROM about WHERE name = ?", name)
        if not found:
            raise StoreError(f"{self._path}: {_NO_LOG}")
        return str(found[0][0])

    def _run(self, query: str, *values: object) -> list[Any]:
        return self._database.execute(query, values).fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._run("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _disk(self) -> Iterator[None]:
        with _told(self._path):
            yield


def _make(path: Path, schema: Schema) -> None:
    """Write a log without events, in one step: an empty file is none, but what is left of one."""
    about = {"version": _VERSION, "log": secrets.token_hex(8), "forgotten": "0", "events": _described(schema)}
    about["sha256"] = _identity(about["log"], about["events"])
    with contextlib.closing(sqlite3.connect(":memory:")) as database, atomic_write(path) as stream:
        os.fchmod(stream.fileno(), 0o600)
        database.executescript(_TABLES)
        database.executemany("INSERT INTO about VALUES (?, ?)", list(about.items()))
        database.commit()
        stream.write(database.serialize())


def read_log(folder: Path, after: int, through: int) -> tuple[str, list[EventRow]]:
    """The name of a log and its events after a number, for another process than that which writes."""
    path = folder / _NAME
    with _told(path), contextlib.closing(_connected(path)) as database:
        found = database.execute("SELECT value FROM about WHERE name = 'log'").fetchone()
        if found is None:
            raise StoreError(f"{path}: {_NO_LOG}")
        return str(found[0]), _rows(path, database, after, through)


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Errors of SQLite, or of the system, as those of a disk."""
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # SQLite's words about a name that is no text
        full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        found = disk_error(OSError(28, os.strerror(28), str(path)) if full else error, path)
        raise found or StoreError(f"{path}: can't be read or written ({error}). Check the disk.") from error


def _connected(path: Path) -> sqlite3.Connection:
    with open_plain(path.parent, path.name, through_link=True):  # SQLite follows links, and waits for pipes
        return sqlite3.connect(path, timeout=10.0, isolation_level=None, check_same_thread=False)


def _rows(path: Path, database: sqlite3.Connection, after: int, through: int) -> list[EventRow]:
    found = database.execute(
        "SELECT number, event, digest FROM events WHERE number > ? AND number <= ? ORDER BY number", (after, through)
    ).fetchall()
    for place, (number, text, digest) in enumerate(found, start=found[0][0] if found else 0):
        if number != place or not isinstance(text, str) or digest != _digest(number, text):
            raise StoreError(f"{path}: {_DAMAGED} Event {place} was changed, or is missing.")
    return [EventRow(*json.loads(text)) for _, text, _ in found]


def _numbered(number: int, row: EventRow) -> tuple[int, str, bytes]:
    """A row of the table of events."""
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    return number, text, _digest(number, text)


def _digest(number: int, text: str) -> bytes:
    return hashlib.sha256(f"{number} {text}".encode()).digest()[:8]


def _identity(name: str, described: str) -> str:
    return hashlib.sha256(f"{name} {described}".encode()).hexdigest()


def _described(schema: Schema) -> str:
    columns = schema.columns
    return json.dumps([columns.all, columns.features, schema.time_unit == "step", schema.format == "jodie"])
