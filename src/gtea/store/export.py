"""Export events to Parquet or CSV, in time order, with the original account ids and column names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from gtea.errors import UsageError
from gtea.runtime.files import atomic_write
from gtea.runtime.progress import Progress, no_progress
from gtea.runtime.spreadsheet import spreadsheet_safe
from gtea.store.time_units import UNITS_PER_SECOND, date_text
from gtea.store.view import View

_BATCH = 1 << 18

# The seconds since 1970 that can be read again: years of four digits from text, 285,000 years from Parquet.
_RANGES = {"csv": (-62_135_596_800, 253_402_300_799), "parquet": (-9 * 10**12, 9 * 10**12)}


@dataclass(frozen=True)
class EventRows:
    """Events between node numbers, in time order. Ties keep the order of the store."""

    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    time: NDArray[np.int64]
    features: NDArray[np.float32]
    categories: NDArray[np.int32]


def events_in_time_order(view: View, batch: int = _BATCH) -> Iterator[EventRows]:
    """Yield all events before the cut in batches, oldest first."""
    arrays = view.arrays
    order = np.argsort(arrays.event_time, kind="stable")
    order = order[: np.searchsorted(arrays.event_time[order], view.cut)]
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        edge = np.searchsorted(arrays.edge_offset, rows, side="right") - 1
        a, b, reverse = arrays.edge_a[edge], arrays.edge_b[edge], arrays.event_reverse[rows] == 1
        yield EventRows(
            np.where(reverse, b, a),
            np.where(reverse, a, b),
            arrays.event_time[rows],
            arrays.event_features[rows],
            arrays.event_categories[rows],
        )


def export_events(
    view: View,
    out: Path,
    format: Literal["parquet", "csv"],
    progress: Progress = no_progress,
    *,
    for_spreadsheets: bool = False,
) -> int:
    """Write all events before the cut to a file, and return their number.

    Calendar times are written as UTC timestamps, so that their unit is unambiguous. Steps are written as integers.
    Ingesting the file gives the same store, unless it was made for spreadsheets and some text looked like a formula.
    """
    if out.is_dir():
        raise UsageError(f"{out}: is a folder. Name the file to write.")
    _require_dates(view, format)
    schema = _schema(view)
    written = 0
    with atomic_write(out) as stream:
        writer: Any = (
            pyarrow.parquet.ParquetWriter(stream, schema)
            if format == "parquet"
            else pyarrow.csv.CSVWriter(stream, _texts(schema.empty_table(), for_spreadsheets).schema)
        )
        with writer:
            for rows in events_in_time_order(view):
                table = _table(view, rows, schema)
                writer.write_table(table if format == "parquet" else _texts(table, for_spreadsheets))
                written += len(rows.time)
                progress("exporting", written / max(1, view.store.num_events))
    return written


def _require_dates(view: View, format: str) -> None:
    """Refuse times that the format can't say: Arrow would write others in their place."""
    time, unit = view.store.manifest.time, view.store.unit
    if unit == "step" or time["first"] is None:
        return
    first, last = _RANGES[format]
    per_second = UNITS_PER_SECOND[unit]
    for found in (time["first"], min(time["last"], view.cut - 1)):
        if not first <= found // per_second <= last:
            raise UsageError(
                f"--format {format}: times must be from {date_text(first * per_second, unit)} to "
                f"{date_text(last * per_second, unit)} (got {date_text(found, unit)}). "
                "Ingest without the events beyond, or export to pyg."
            )


def _schema(view: View) -> pa.Schema:
    store = view.store
    columns = store.manifest.schema["columns"]
    time_type = pa.int64() if store.unit == "step" else pa.timestamp(store.unit, tz="UTC")
    fields = [
        (columns["src"], pa.large_string()),
        (columns["dst"], pa.large_string()),
        (columns["time"], time_type),
    ]
    fields += [(name, pa.float32()) for name in store.features]
    fields += [(name, pa.large_string()) for name in store.categorical]
    return pa.schema(fields)


def _table(view: View, rows: EventRows, schema: pa.Schema) -> pa.Table:
    store = view.store
    columns: list[pa.Array] = [store.accounts.take(rows.src), store.accounts.take(rows.dst)]
    columns.append(pa.array(rows.time).cast(schema.field(2).type))
    columns += [pa.array(np.ascontiguousarray(column)) for column in rows.features.T]
    columns += [table.take(codes) for table, codes in zip(store.vocabularies, rows.categories.T, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)


def _texts(table: pa.Table, for_spreadsheets: bool) -> pa.Table:
    """The table with timestamps as text: Arrow's CSV writer omits the T that ISO 8601 requires."""
    columns = [
        pc.strftime(column, format="%Y-%m-%dT%H:%M:%SZ") if pa.types.is_timestamp(column.type) else column
        for column in table.columns
    ]
    texts = pa.Table.from_arrays(columns, names=table.column_names)
    return spreadsheet_safe(texts) if for_spreadsheets else texts
