"""Scores as tables of a database, replaced as a whole in one transaction.

A table that is not there is made. One that is there must have the columns and types of scores, in their order: then its
rows are replaced, and what hangs on it (rights, indexes, views) stays. Any other table is somebody else's, and is left
alone. Readers see the old rows until the new ones are complete.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from gtea.errors import StoreError, UsageError
from gtea.ingestion.database_address import DatabaseAddress, parse_address, split_table
from gtea.ingestion.database_connection import connected, translated

_LONGEST_NAME = 63
"""In bytes. PostgreSQL cuts longer names without a word."""
_POSTGRESQL = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_integer, "bigint"),
    (pa.types.is_floating, "double precision"),
)
_SQLITE = ((pa.types.is_boolean, "INTEGER"), (pa.types.is_integer, "INTEGER"), (pa.types.is_floating, "REAL"))

_Columns = list[tuple[str, str]]


class DatabaseTable:
    """A table of a database, and those whose names begin like it."""

    def __init__(self, given: str) -> None:
        """Take an address apart.

        Args:
            given: ``postgresql://host/database/table``, ``.../schema.table`` or ``sqlite:///file/table``.
        """
        database, table = split_table(given)
        self._address: DatabaseAddress = parse_address(database)
        self._schema, self._table = "", table
        if self._address.kind == "postgresql" and "." in table:
            self._schema, _, self._table = table.partition(".")
        self.name = f"{self._address.name}/{table}"
        """Without user, password and settings."""

    def check_reachable(self) -> None:
        """Connect once, before hours of work whose result would have no place. Makes no file."""
        path = self._address.path
        if path is None or path.exists():
            with connected(self._address, writes=True):
                pass
        elif not path.absolute().parent.is_dir():
            raise StoreError(f"{path.absolute().parent}: no such folder. Make it, or name another.")

    def write(self, tables: Mapping[str, pa.Table]) -> None:
        """Write tables by what is put behind the name, all in one transaction."""
        path = self._address.path
        is_new = path is not None and not path.exists()
        try:
            with connected(self._address, writes=True) as cursor:
                for suffix, table in tables.items():
                    self._replace(cursor, f"{self._table}{suffix}", table)
                with translated(self._address, "can't be written", writes=True):
                    cursor.connection.commit()
        except BaseException:
            if is_new and path is not None:
                with contextlib.suppress(OSError):
                    if path.stat().st_size == 0:
                        path.unlink()
            raise

    def _replace(self, cursor: Any, name: str, content: pa.Table) -> None:
        wanted = _columns(content.schema, self._address.kind)
        for longest in (name, self._schema, *(column for column, _ in wanted)):
            if self._address.kind == "postgresql" and len(longest.encode()) > _LONGEST_NAME:
                raise UsageError(f"--out: a name must not be longer than {_LONGEST_NAME} bytes (got {longest!r:.90}).")
        place = ".".join(_quoted(part) for part in (self._schema, name) if part)
        written = name if self._address.kind == "sqlite" else place
        with translated(self._address, "can't be written", writes=True):
            found = self._found(cursor, written)
            if not found:
                described = ", ".join(f"{_quoted(column)} {kind}" for column, kind in wanted)
                cursor.execute(f"CREATE TABLE {place} ({described})")
            elif found != wanted:
                raise StoreError(
                    f"{self._address.name}: table {name!r} must have the columns {_shown(wanted)} "
                    f"(got {_shown(found)}). It is left as it is; name another table, or drop it."
                )
            else:
                if self._address.kind == "postgresql":
                    cursor.execute(f"LOCK TABLE {place} IN SHARE ROW EXCLUSIVE MODE")  # another writer waits
                cursor.execute(f"DELETE FROM {place}")
            if len(content):
                schema = {"db_schema_name": self._schema} if self._schema else {}
                cursor.adbc_ingest(name, content.replace_schema_metadata(None), mode="append", **schema)

    def _found(self, cursor: Any, name: str) -> _Columns:
        """The columns and types of a table that is there; none if there is none."""
        if self._address.kind == "sqlite":
            cursor.execute(f"SELECT name, type FROM pragma_table_info({_literal(name)})")
        else:
            cursor.execute(
                "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute "
                f"WHERE attrelid = to_regclass({_literal(name)}) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
            )
        return [(str(name), str(kind)) for name, kind in cursor.fetchall()]


def _columns(schema: pa.Schema, kind: str) -> _Columns:
    kinds = _SQLITE if kind == "sqlite" else _POSTGRESQL
    text = "TEXT" if kind == "sqlite" else "text"
    return [(column.name, next((name for fits, name in kinds if fits(column.type)), text)) for column in schema]


def _shown(columns: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns)[:400]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
