"""Connections to databases through ADBC, which hands over Arrow batches, and their errors in one line each.

A connection that reads can't change anything: an SQLite file is opened read-only, and a PostgreSQL transaction is
declared read-only before the query is sent.
"""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from gtea.errors import DataError, GteaError, StoreError, UsageError
from gtea.ingestion.database_address import DatabaseAddress
from gtea.runtime.disk_errors import disk_error

_MISSING = "databases: are read and written by ADBC, which is not installed. pip install 'gtea[db]'"
_PREFIXES = re.compile(
    r"^(?:[A-Z_]+: |\[(?:libpq|SQLite)\] |Failed to (?:prepare query|execute query|step query|connect|get table schema|"
    r"execute COPY statement): |could not begin COPY: |Execution error \[\w+\]: |PGRES_\w+ |ERROR:\s+)+"
)
_QUERY_SHOWN = re.compile(r"Failed to execute query '.*'(?:: )?", re.DOTALL)


@contextlib.contextmanager
def connected(address: DatabaseAddress, *, writes: bool = False) -> Iterator[Any]:
    """A cursor on a new connection. Its one transaction is undone at the end, unless the caller commits before.

    Args:
        writes: Whether to allow changes. SQLite makes the file then, if there is none.
    """
    try:
        driver = importlib.import_module(f"adbc_driver_{address.kind}.dbapi")
    except ImportError as error:
        raise UsageError(_MISSING) from error
    if address.kind == "sqlite" and not writes and not address.required_file().is_file():
        raise DataError(f"{address.name}: no such file. Check the path; sqlite:////folder/file is one from the root.")
    uri = address.uri
    if address.kind == "sqlite":
        uri += "?mode=rwc" if writes else "?mode=ro"
    with translated(address, "can't be reached", writes=writes):
        connection = driver.connect(uri)
    try:
        cursor = connection.cursor()
        try:
            with translated(address, "can't be reached", writes=writes):
                if address.kind == "sqlite":
                    cursor.execute("SELECT 1 FROM sqlite_master LIMIT 0")  # a file of another kind shows here
                else:
                    cursor.execute("SET client_encoding TO 'UTF8'")
                    cursor.execute("SET TRANSACTION READ WRITE" if writes else "SET TRANSACTION READ ONLY")
            yield cursor
        finally:
            with contextlib.suppress(Exception):
                cursor.close()
    finally:
        # What is not committed is undone. A connection that broke can't be closed in order.
        with contextlib.suppress(Exception):
            connection.rollback()
        with contextlib.suppress(Exception):
            connection.close()


@contextlib.contextmanager
def translated(address: DatabaseAddress, rule: str, *, writes: bool = False, query: bool = False) -> Iterator[None]:
    """Turn any error of a driver into one line of ours, without a password and without what led to it.

    Args:
        query: Whether the user's query is all that can be wrong.
    """
    try:
        yield
    except GteaError:
        raise
    except Exception as error:
        if not is_driver_error(error):
            raise
        found = disk_error(error, address.path) if writes and address.path is not None else None
        if found is not None:  # a server's disk is not ours
            raise found from None
        said = driver_words(address, error)
        # Not "from error": the driver's own words may say more than they should, and --debug would print them.
        if query:
            raise UsageError(f"--query: can't be run by {address.name} ({said}). Fix the query.") from None
        kind = StoreError if writes else DataError
        raise kind(f"{address.name}: {rule} ({said}). Check the address, the server and your rights.") from None


def is_driver_error(error: Exception) -> bool:
    """Whether an exception comes from ADBC, or from reading its batches."""
    return type(error).__module__.startswith("adbc_driver_manager") or isinstance(error, pa.ArrowException | OSError)


def driver_words(address: DatabaseAddress, error: Exception) -> str:
    """What a driver says is wrong, on one line: without its own prefixes, the query, and passwords."""
    text = _QUERY_SHOWN.sub("", address.without_secrets(str(error))).strip()
    first = text.splitlines()[0] if text else type(error).__name__
    words = _PREFIXES.sub("", first).strip().rstrip(".:")
    if "failed to allocate memory" in words:  # what the SQLite driver says when a file can't be opened
        words = "the file can't be opened"
    return re.sub(r"\s+", " ", words)[:300]
