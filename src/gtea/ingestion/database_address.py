"""Addresses of databases: ``postgresql://user@host/database`` and ``sqlite:///file``.

An address may hold a password. It is taken apart here, before any library sees it, so that nothing that is printed,
raised or written ever has one: messages and manifests use ``DatabaseAddress.name``, and words of a driver go through
``DatabaseAddress.without_secrets``. What can't be taken apart with certainty is refused without being repeated.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, quote, unquote

from gtea.errors import UsageError

_POSTGRESQL = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^:@/?#\s]*)(?::(?P<password>[^:@/?#\s]*))?@)?(?P<hosts>[^@/?#\s]*)"
    r"(?:/(?P<path>[^@?#\s]*))?(?:\?(?P<settings>[^#\s@]*))?"
)
_SQLITE = re.compile(r"sqlite:///(?P<path>[^\0]+)", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_DATABASE = re.compile(r"(?:postgres(?:ql)?|sqlite)(?:\+\w+)?:", re.IGNORECASE)
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^:\[\]]*)(?::\d+)?")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SECRET_SETTINGS = ("password", "sslpassword")
_FORM = "postgresql://[user[:password]@]host[:port]/database or sqlite:///file"


@dataclass(frozen=True)
class DatabaseAddress:
    """Where a database is."""

    kind: Literal["postgresql", "sqlite"]
    name: str
    """For messages and manifests: without user, password and settings."""
    uri: str = field(repr=False)
    """For the driver. It may hold a password."""
    path: Path | None = None
    """The file of an SQLite database."""
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def without_secrets(self, text: str) -> str:
        """A text with each password in it replaced."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text

    def required_file(self) -> Path:
        """The file of an SQLite database, which must exist."""
        assert self.path is not None, "a server has no file"
        return self.path


def is_database(given: object) -> bool:
    """Whether an input is the address of a database, well formed or not."""
    return isinstance(given, str) and _DATABASE.match(given) is not None


def refuse_address(given: str) -> None:
    """Refuse an address where a file is wanted, without repeating it."""
    scheme = _SCHEME.match(given)
    if scheme is not None:
        raise UsageError(
            f"{scheme[0]}...: is an address, and a file is wanted here. Name a file; events are read from "
            "postgresql:// and sqlite:/// with --query, scores written there with --out."
        )


def parse_address(given: str) -> DatabaseAddress:
    """Take the address of a database apart. One that is not well formed is refused, and not repeated."""
    if given.startswith("sqlite:"):
        found = _SQLITE.fullmatch(given)
        if found is None:
            raise UsageError(
                "sqlite: the address must have the form sqlite:///file, or sqlite:////folder/file for a path from the "
                f"root (got {given!r:.80}). Write three slashes before the file."
            )
        path = Path(found["path"])
        return DatabaseAddress("sqlite", path.name, "file:" + quote(str(path.absolute())), path)
    found = _POSTGRESQL.fullmatch(given)
    if found is None or not all(map(_HOST.fullmatch, found["hosts"].split(","))) or _BROKEN_ESCAPE.search(given):
        raise UsageError(
            f"database: the address must have the form {_FORM} (it is not repeated here: it may hold a password). "
            "In a user or a password, write : / ? # [ ] @ % and blanks as %3A %2F %3F %23 %5B %5D %40 %25 %20, or "
            "leave the password to PGPASSWORD or ~/.pgpass."
        )
    settings = parse_qsl(found["settings"] or "", keep_blank_values=True)
    raw = [found["password"] or "", *(value for name, value in settings if name in _SECRET_SETTINGS)]
    raw += [
        item.partition("=")[2] for item in (found["settings"] or "").split("&") if item.startswith(_SECRET_SETTINGS)
    ]
    known = {*raw, *map(unquote, raw), os.environ.get("PGPASSWORD", "")} - {""}
    name = f"postgresql://{unquote(found['hosts'])}/{unquote(found['path'] or '')}"
    return DatabaseAddress("postgresql", name, given, secrets=tuple(known))


def split_table(given: str) -> tuple[str, str]:
    """Split an address that ends in a table: the address of the database, and the name of the table.

    ``postgresql://host/database/table``, ``.../database/schema.table``, ``sqlite:///file/table``.
    """
    parse_address(given)  # refuses what is not well formed, without repeating it
    address, mark, settings = given.partition("?") if given.startswith("postgres") else (given, "", "")
    database, slash, table = address.rpartition("/")
    is_whole = slash and table and not database.endswith("/")
    if not is_whole or (given.startswith("postgres") and database.count("/") < 3):
        raise UsageError(
            "--out: the address of a database must end in /table, as in postgresql://host/database/scores or "
            "sqlite:///file.db/scores. Add the name of the table."
        )
    return f"{database}{mark}{settings}", unquote(table) if mark or given.startswith("postgres") else table
