"""Map the account ids of a table to the node numbers of a store, and report ids that the store does not have."""

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
"""How to handle a row with an account that is not in the store."""


@dataclass(frozen=True)
class Accounts:
    """Accounts to score, without duplicates, in the order of their first row."""

    nodes: NDArray[np.int64]
    report: dict[str, Any]
    """Counts of rows read, duplicate rows and accounts that are not in the store."""

    def __len__(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True)
class FoundRows:
    """The rows of a table whose accounts are all in the store."""

    rows: NDArray[np.int64]
    nodes: tuple[NDArray[np.int64], ...]
    """For each account column, the node number of every row in ``rows``."""
    unknown: dict[str, Any]
    """Accounts that are not in the store: their number, the number of affected rows, and the first ten ids."""


def read_accounts(source: Table, store: Store, *, account: str | None = None, unknown: Unknown = "error") -> Accounts:
    """Read the accounts to score.

    Args:
        source: A CSV, TSV or Parquet file, or a frame.
        store: The store that holds the accounts.
        account: The column of account ids. Defaults to ``account``, or to the only column.
        unknown: ``"error"`` rejects accounts that are not in the store; ``"skip"`` drops and counts them.
    """
    table = read_table(source, [account or "account"], "accounts")
    column = account or _account_column(table)
    if account is None:
        require_header(store, table, (column,))
    found = find_rows(store, table, (column,), unknown)
    _, first = np.unique(found.nodes[0], return_index=True)
    nodes = found.nodes[0][np.sort(first)]
    if not len(nodes):
        raise DataError(f"{table.name}: must name at least one account of {store.path.name} (got none). Add accounts.")
    repeated = len(found.rows) - len(nodes)
    report = {"source": table.name, "rows": len(table), "repeated_rows": repeated, "unknown": found.unknown}
    return Accounts(nodes, report)


def find_rows(store: Store, table: TextTable, columns: Sequence[str], unknown: Unknown) -> FoundRows:
    """Look up every account of some columns. Rows with an account that is not in the store raise or are dropped."""
    if unknown not in ("error", "skip"):
        raise UsageError(f"unknown: must be 'error' or 'skip' (got {unknown!r}). Try 'skip'.")
    ids = [table.ids(column) for column in columns]
    nodes = [store.accounts.find_many(column) for column in ids]
    all_found = np.logical_and.reduce([column >= 0 for column in nodes])
    unknown_ids = _unknown_ids(ids, nodes)
    if unknown_ids and unknown == "error":
        more = ", ..." if len(unknown_ids) > SHOWN else ""
        raise DataError(
            f"{table.name}: every account must be in {store.path.name} (got {len(unknown_ids):,} that are not: "
            f"{', '.join(map(repr, unknown_ids[:SHOWN]))}{more}). Ids are compared exactly as written: check leading "
            "zeros, spaces and case; or leave such rows out with --unknown skip."
        )
    report = {"accounts": len(unknown_ids), "rows": int((~all_found).sum()), "first": unknown_ids[:SHOWN]}
    return FoundRows(np.flatnonzero(all_found), tuple(column[all_found] for column in nodes), report)


def require_header(store: Store, table: TextTable, columns: Sequence[str]) -> None:
    """Raise if a column name is an account id: then the header is missing, and the first row was read as one."""
    for column in columns:
        if column != "account" and column.isprintable() and store.accounts.find(column) >= 0:
            raise DataError(
                f"{table.name}: must start with a header line (got {column!r}, which is an account of "
                f"{store.path.name}). Add a line such as 'account,label', or pass the column names."
            )


def _account_column(table: TextTable) -> str:
    if "account" in table.columns:
        return "account"
    if len(table.columns) != 1:
        raise UsageError(
            f"{table.name}: must have a column 'account' or only one (got {', '.join(table.columns)}). "
            "Pass the name of the account column."
        )
    return table.columns[0]


def _unknown_ids(ids: Sequence[pa.ChunkedArray], nodes: Sequence[NDArray[np.int64]]) -> list[str]:
    """Return the distinct ids that were not found, in row order."""
    missing = [column.filter(pa.array(numbers < 0)) for column, numbers in zip(ids, nodes, strict=True)]
    rows = np.concatenate([np.flatnonzero(numbers < 0) for numbers in nodes])
    names = pa.chunked_array([chunk for column in missing for chunk in column.chunks], pa.large_string())
    ordered = names.take(pa.array(np.argsort(rows, kind="stable")))
    return [str(name) for name in pc.unique(ordered).to_pylist()]
