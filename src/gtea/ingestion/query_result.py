"""The result of a query as an input: streamed from the database batch by batch, checked like a file.

The query runs inside one that selects the wanted columns, so nothing else is sent, and a statement that is no query
is refused. SQLite has a type for each value, not for each column: there, all values come as text, as from a CSV file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gtea.errors import DataError, GteaError, UsageError
from gtea.ingestion.database_address import DatabaseAddress, is_database, parse_address
from gtea.ingestion.database_connection import driver_words, is_driver_error, translated
from gtea.ingestion.table_files import require_columns

_DIGEST_ROWS = 1 << 14

_MOST_BROKEN = 100_000
"""They are kept in memory, to be shown and written."""


@dataclass(frozen=True)
class DatabaseQuery:
    """A query and the database that it is sent to: an input of ``ingest`` and ``append``."""

    address: str = field(repr=False)
    """``postgresql://...`` or ``sqlite:///file``. It may hold a password."""
    query: str


def with_query(inputs: Sequence[Any], query: str | None) -> list[Any]:
    """The inputs with the address of a database replaced by its query.

    Args:
        query: Of ``--query``; None if it was not given.
    """
    databases = [item for item in inputs if is_database(item)]
    if query is None:
        if databases:
            parse_address(databases[0])
            raise UsageError("--query: must be given to read from a database. Add --query 'SELECT ...'.")
        return list(inputs)
    if len(databases) != 1 or len(inputs) != 1:
        raise UsageError(
            "--query: goes with the address of one database, and no other input. Give postgresql://... or sqlite:///..."
        )
    return [DatabaseQuery(str(databases[0]), query)]


class BrokenRow(NamedTuple):
    """A row with text that is not UTF-8. Nothing after the driver can hold it."""

    row: int
    """Its number in the result, from 1."""
    column: str
    value: str
    """What is not UTF-8 is replaced here."""
    record: str


class QueryRows:
    """The rows of a query while they are read: what the database sent, counted and digested on the way."""

    def __init__(self, given: DatabaseQuery) -> None:
        self.address: DatabaseAddress = parse_address(given.address)
        self.name = self.address.name
        self.rows = 0
        """How many rows came so far, broken ones included."""
        self.broken: list[BrokenRow] = []
        """Those that are left out, because no store can hold them."""
        self.error: GteaError | None = None
        """What ended the stream early. DuckDB reports it in other words."""
        self._query = _plain_query(given.query)
        self._digest = hashlib.sha256()
        self._rest: pa.Table | None = None

    def _columns(self, cursor: Any) -> list[tuple[str, str]]:
        """The name of each column of the result and the SQL that selects it; the query is not run to its end."""
        with translated(self.address, "can't be read", query=True):
            if self.address.kind == "postgresql":
                return [(column.name, _as_plain(column)) for column in cursor.adbc_execute_schema(self._query)]
            cursor.execute(f"SELECT * FROM (\n{self._query}\n) LIMIT 0")
            return [(column[0], _as_text(column[0])) for column in cursor.description]

    def reader(self, cursor: Any, wanted: Sequence[str]) -> pa.RecordBatchReader:
        """Run the query; its batches come as they are asked for."""
        columns = self._columns(cursor)
        found = [name for name, _ in columns]
        require_columns(f"{self.name}, result of --query", wanted, found)
        twice = [name for name in wanted if found.count(name) > 1]
        if twice:
            raise UsageError(f"--query: has more than one column {twice[0]!r}. Name them differently with AS.")
        values = ", ".join(f"{dict(columns)[name]} AS {_quoted(name)}" for name in dict.fromkeys(wanted))
        with translated(self.address, "can't be read", query=True):
            if self.address.kind == "sqlite":
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(_DIGEST_ROWS)})
            cursor.execute(f"SELECT {values} FROM (\n{self._query}\n) AS result")
            source = cursor.fetch_record_batch()
        plain = [_plain_type(field, self.name) for field in source.schema]
        schema = pa.schema([pa.field(field.name, kind) for field, kind in zip(source.schema, plain, strict=True)])
        return pa.RecordBatchReader.from_batches(schema, self._batches(source, schema))

    def row_numbers(self, kept: Sequence[int]) -> list[int]:
        """The numbers in the result, from 1, of rows given by their position, from 0, among those that are kept."""
        kept_before = np.array([broken.row for broken in self.broken], np.int64) - 1 - np.arange(len(self.broken))
        positions = np.array(kept, np.int64)
        numbers: list[int] = (positions + 1 + np.searchsorted(kept_before, positions, "right")).tolist()
        return numbers

    def described(self) -> dict[str, Any]:
        """For the manifest, once all rows were read: digests of the query and of the rows, but neither itself.

        A query may hold what is nobody else's business.
        """
        if self._rest is not None:
            self._add_to_digest(self._rest)
            self._rest = None
        query = hashlib.sha256(self._query.encode()).hexdigest()
        return {"name": self.name, "query_sha256": query, "rows": self.rows, "sha256": self._digest.hexdigest()}

    def _batches(self, source: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        try:
            for batch in source:
                plain = self._plain(batch, schema)
                self.rows += len(batch)
                self._digest_by_blocks(plain)
                yield plain
        except GteaError as error:
            self.error = error
            raise
        except Exception as error:
            if not is_driver_error(error):
                raise
            said = driver_words(self.address, error)
            self.error = DataError(
                f"{self.name}: the query stopped after {self.rows:,} rows ({said}). Check the query, and run it again."
            )
            raise self.error from None

    def _plain(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        """A batch of ordinary types, without the rows whose text is not UTF-8."""
        columns = []
        for column, wanted in zip(batch.columns, schema, strict=True):
            values = column.storage if isinstance(column, pa.ExtensionArray) else column
            columns.append(values if values.type == wanted.type else values.cast(wanted.type))
        plain = self._without_broken(pa.record_batch(columns, schema))
        if self.address.kind == "sqlite":
            texts = [
                pc.if_else(pc.equal(values, ""), None, values) if pa.types.is_string(values.type) else values
                for values in plain.columns
            ]
            plain = pa.record_batch(texts, schema)
        return plain

    def _without_broken(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch without the rows whose text is not UTF-8; they are noted."""
        found: dict[int, str] = {}
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            if pa.types.is_string(values.type):
                found = dict.fromkeys(_not_utf8(values), name) | found
        if not found:
            return batch
        for place in sorted(found):
            texts = {name: _as_shown(values[place]) for name, values in zip(batch.schema.names, batch, strict=True)}
            record = json.dumps(list(texts.values()), ensure_ascii=False)
            self.broken.append(BrokenRow(self.rows + place + 1, found[place], texts[found[place]] or "", record))
        if len(self.broken) > _MOST_BROKEN:
            first = self.broken[0]
            raise DataError(
                f"{self.name}: text must be UTF-8 (got more than {_MOST_BROKEN:,} rows in which it is not, the first "
                f"with {first.value!r:.80} in column {first.column!r}). Convert it in the query."
            )
        return batch.filter(pa.array([place not in found for place in range(len(batch))]))

    def _digest_by_blocks(self, batch: pa.RecordBatch) -> None:
        """Digest the rows in blocks of equal length: a driver may cut the same rows in other places next time."""
        table = pa.Table.from_batches([batch])
        if self._rest is not None:
            table = pa.concat_tables([self._rest, table])
        whole = len(table) - len(table) % _DIGEST_ROWS
        for start in range(0, whole, _DIGEST_ROWS):
            self._add_to_digest(table.slice(start, _DIGEST_ROWS))
        self._rest = table.slice(whole)

    def _add_to_digest(self, block: pa.Table) -> None:
        sink = pa.BufferOutputStream()
        (whole,) = block.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], block.schema)]
        with pa.ipc.new_stream(sink, block.schema) as writer:
            # Taken row by row: a slice would keep what stands beside it, and what hides under a null.
            writer.write_batch(whole.take(pa.array(np.arange(len(whole)))))
        self._digest.update(sink.getvalue())


def _not_utf8(values: pa.Array) -> list[int]:
    """The positions of texts that are not UTF-8."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        found = enumerate(values.cast(pa.binary()).to_pylist())
        return [place for place, value in found if value is not None and _decoded(value).encode() != value]
    return []


def _as_shown(value: pa.Scalar) -> str | None:
    if pa.types.is_string(value.type):
        value = value.cast(pa.binary())
    content = value.as_py()
    return _decoded(content) if isinstance(content, bytes) else None if content is None else str(content)


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _plain_query(query: str) -> str:
    text = re.sub(r"[;\s]+\Z", "", query.strip())
    if not text:
        raise UsageError("--query: must not be empty. Write --query 'SELECT ...'.")
    return text


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _as_plain(column: pa.Field) -> str:
    """PostgreSQL: a column in a type that Arrow has. Infinity is no time: it is nothing, which a check then finds."""
    name = _quoted(column.name)
    if getattr(column.type, "extension_name", "") == "arrow.uuid":
        return f"CAST({name} AS text)"
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return f"CASE WHEN isfinite({name}) THEN {name} END"
    return name


def _as_text(name: str) -> str:
    """SQLite: a value as text that loses nothing. An empty text stands for no value: the driver needs a type."""
    column = _quoted(name)
    return (
        f"coalesce(CASE typeof({column}) WHEN 'real' THEN printf('%!.17g', {column}) "
        f"WHEN 'blob' THEN 'x''' || hex({column}) || '''' ELSE CAST({column} AS TEXT) END, '')"
    )


def _plain_type(column: pa.Field, name: str) -> pa.DataType:
    """The type in which a column is read. Numbers of any size come as text, and stay exact."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_interval(kind):
        shown = (column.metadata or {}).get(b"POSTGRESQL:type", str(kind).encode()).decode("utf-8", "replace")
        raise DataError(
            f"{name}, column {column.name!r}: must be text, numbers or times (got type {shown}). "
            "Convert it in the query, as in CAST(... AS text)."
        )
    return kind
