"""Accounts that a table names, as node numbers of a store; and those that the store doesn't know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gtea.errors import DataError, UsageError
from gtea.store.store import Store
from gtea.tasks.tables import SHOWN, Table, TextTable, read_table

Unknown = Literal["error", "skip"]
"""What becomes of a row with an account that the store doesn't know."""


@dataclass(frozen=True)
class Accounts:
    """Accounts to score, each once, in the order in which the table first names them."""

    nodes: NDArray[np.int64]
    report: dict[str, Any]
    """Rows read, rows folded because they repeat an account, and accounts that the store doesn't know."""

    def __len__(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True)
class FoundRows:
    """The rows of a table whose accounts the store knows."""

    rows: NDArray[np.int64]
    nodes: tuple[NDArray[np.int64], ...]
    """For each column of accounts, the node of each such row."""
    unknown: dict[str, Any]
    """How many accounts the store doesn't know, in how many rows, and the first ten."""


def read_accounts(source: Table, store: Store, *, account: str | None = None, unknown: Unknown = "error") -> Accounts:
    """Read the accounts that are to be scored.

    Args:
        source: A CSV, TSV or Parquet file, or a frame.
        account: The column; by default ``account``, or the only one.
        unknown: ``skip`` leaves out accounts that the store doesn't know, and counts them.
    """
    table = read_table(source, [account or "account"], "accounts")
    column = account or _account_column(table)
    if account is None:
        refuse_missing_header(store, table, (column,))
    found = find_rows(store, table, (column,), unknown)
    _, first = np.unique(found.nodes[0], return_index=True)
    nodes = found.nodes[0][np.sort(first)]
    if not len(nodes):
        raise DataError(f"{table.name}: must name at least one account of {store.path.name} (got none).")
    repeated = len(found.rows) - len(nodes)
    report = {"source": table.name, "rows": len(table), "repeated_rows": repeated, "unknown": found.unknown}
    return Accounts(nodes, report)


def find_rows(store: Store, table: TextTable, columns: Sequence[str], unknown: Unknown) -> FoundRows:
    """Look up every account of some columns; refuse or leave out rows with one that the store doesn't know."""
    if unknown not in ("error", "skip"):
        raise UsageError(f"unknown: must be 'error' or 'skip' (got {unknown!r}).")
    ids = [table.ids(column) for column in columns]
    nodes = [store.accounts.find_many(column) for column in ids]
    known = np.logical_and.reduce([column >= 0 for column in nodes])
    strangers = _strangers(ids, nodes)
    if strangers and unknown == "error":
        more = ", ..." if len(strangers) > SHOWN else ""
        raise DataError(
            f"{table.name}: every account must be in {store.path.name} (got {len(strangers):,} that are not: "
            f"{', '.join(map(repr, strangers[:SHOWN]))}{more}). Ids are compared exactly as written: check leading "
            "zeros, spaces and case; or leave such rows out with --unknown skip."
        )
    counted = {"accounts": len(strangers), "rows": int((~known).sum()), "first": strangers[:SHOWN]}
    return FoundRows(np.flatnonzero(known), tuple(column[known] for column in nodes), counted)


def refuse_missing_header(store: Store, table: TextTable, columns: Sequence[str]) -> None:
    """Refuse a table whose column is called like an account: its first row was taken for the header."""
    for column in columns:
        if column != "account" and column.isprintable() and store.accounts.find(column) >= 0:
            raise DataError(
                f"{table.name}: must start with a header line (got {column!r}, which is an account of "
                f"{store.path.name}). Add a line such as 'account,label', or name the columns."
            )


def _account_column(table: TextTable) -> str:
    if "account" in table.columns:
        return "account"
    if len(table.columns) != 1:
        raise UsageError(
            f"{table.name}: must have a column 'account' or only one (got {', '.join(table.columns)}). "
            "Name the column of the accounts."
        )
    return table.columns[0]


def _strangers(ids: Sequence[pa.ChunkedArray], nodes: Sequence[NDArray[np.int64]]) -> list[str]:
    """The distinct ids that were not found, in the order of the table's rows."""
    missing = [column.filter(pa.array(numbers < 0)) for column, numbers in zip(ids, nodes, strict=True)]
    rows = np.concatenate([np.flatnonzero(numbers < 0) for numbers in nodes])
    names = pa.chunked_array([chunk for column in missing for chunk in column.chunks], pa.large_string())
    ordered = names.take(pa.array(np.argsort(rows, kind="stable")))
    return [str(name) for name in pc.unique(ordered).to_pylist()]
