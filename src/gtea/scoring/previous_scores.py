"""A table of scores that was written before, read to be compared with today's.

A Parquet file says as of when it was made. A CSV file can't; its reader has to be told.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from gtea.errors import DataError, UsageError
from gtea.runtime.json_shape import Words, misshapen
from gtea.store.store import Store
from gtea.store.time_units import unit_ratio
from gtea.tasks.tables import TextTable, read_table

_KEY = b"gtea"
_UNITS = Words("s", "us", "ns", "step")
_FACTS = {"as_of": int, "unit": _UNITS, "model_digest": str, "all_accounts": bool}


@dataclass(frozen=True)
class ScoresOrigin:
    """As of when scores were made, and from what: kept in their Parquet file."""

    as_of: int
    unit: str
    model_digest: str
    all_accounts: bool
    """Whether all accounts of the store were scored."""

    def attach(self, table: pa.Table) -> pa.Table:
        """The table with this in its metadata. It has nothing of events after the cut."""
        return table.replace_schema_metadata({_KEY: json.dumps(vars(self), sort_keys=True).encode()})


@dataclass(frozen=True)
class PreviousScores:
    """Earlier scores by account."""

    name: str
    accounts: pa.ChunkedArray
    scores: NDArray[np.float64]
    ranks: NDArray[np.int64]
    alerts: NDArray[np.bool_] | None
    """None if the model had no threshold."""
    active: NDArray[np.bool_]
    events: NDArray[np.int64] | None
    """How many events each account had. None in a table of gtea before this column."""
    cut: int
    """As of when, in the unit of today's store."""
    model_digest: str | None
    all_accounts: bool

    def rows_of(self, accounts: Any) -> NDArray[np.int64]:
        """The row of each account, or -1."""
        found = pc.index_in(pa.array(accounts).cast(pa.large_string()), value_set=self.accounts.combine_chunks())
        return np.asarray(pc.fill_null(found, -1)).astype(np.int64)


def read_previous(path: str | Path, store: Store, as_of: str | None) -> PreviousScores:
    """Read scores that ``gtea score`` wrote as Parquet or CSV.

    Args:
        as_of: As of when they were made, for a file that doesn't say so.
    """
    table = read_table(path, ("account", "score", "rank"), "scores")
    origin = _origin(Path(path))
    if origin is not None and as_of is not None:
        raise UsageError(f"--since-as-of: is for files that don't say it themselves (got {table.name}). Leave it out.")
    if origin is None and as_of is None:
        raise UsageError(
            f"{table.name}: doesn't say as of when it was made, as a CSV file never does. Add --since-as-of T, or keep "
            "scores as Parquet."
        )
    ids = table.ids("account")
    if not len(ids):
        raise DataError(f"{table.name}: must have at least one account (got none). Give a file that gtea score wrote.")
    if pc.count_distinct(ids).as_py() < len(ids):
        raise DataError(f"{table.name}: an account must have one row (got several). Give a file that gtea score wrote.")
    if as_of is not None:
        cut = store.as_of(as_of).cut
    else:
        assert origin is not None, "one of them is given"
        if (origin.unit == "step") != (store.unit == "step"):
            raise DataError(
                f"{table.name}: must come from an earlier state of this store (got times in {origin.unit})."
            )
        cut = origin.as_of * unit_ratio(origin.unit, store.unit)
    return PreviousScores(
        table.name,
        ids,
        _numbers(table, "score", pa.float64()),
        _numbers(table, "rank", pa.int64()),
        _truths(table, "alert") if "alert" in table.columns else None,
        _truths(table, "active") if "active" in table.columns else np.ones(len(table), dtype=bool),
        _numbers(table, "events", pa.int64()) if "events" in table.columns else None,
        cut,
        None if origin is None else origin.model_digest,
        origin is None or origin.all_accounts,
    )


def _origin(path: Path) -> ScoresOrigin | None:
    if path.suffix != ".parquet":
        return None
    try:
        found = (pq.read_schema(path).metadata or {}).get(_KEY)
        content = None if found is None else json.loads(found)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path.name}: can't be read ({str(error).splitlines()[0]}). Check the file.") from error
    if content is None:
        return None
    fault = misshapen(content, _FACTS, "metadata")
    if fault is not None:
        raise DataError(f"{path.name}: is damaged ({fault}). Give a file that gtea score wrote.")
    return ScoresOrigin(**content)


def _numbers(table: TextTable, column: str, kind: pa.DataType) -> NDArray[Any]:
    try:
        values = table.texts(column).cast(kind)
    except pa.ArrowException as error:
        raise DataError(
            f"{table.name}, column {column!r}: must be numbers ({str(error).splitlines()[0]}). "
            "Give a file that gtea score wrote."
        ) from error
    return np.asarray(values)


def _truths(table: TextTable, column: str) -> NDArray[np.bool_]:
    texts = pc.utf8_lower(table.texts(column))
    if not pc.all(pc.is_in(texts, value_set=pa.array(["true", "false"], texts.type))).as_py() and len(texts):
        raise DataError(f"{table.name}, column {column!r}: must be true or false. Give a file that gtea score wrote.")
    return np.asarray(pc.equal(texts, "true")).astype(bool)
