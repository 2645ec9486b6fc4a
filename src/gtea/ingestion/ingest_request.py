"""The arguments of ingest and append, validated before anything is read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from gtea.errors import UsageError
from gtea.ingestion.bad_rows import BadRows
from gtea.ingestion.columns import check_node_columns
from gtea.ingestion.snap_files import SnapLayout
from gtea.ingestion.table_files import file_format, find_files, read_jodie_layout, read_layout
from gtea.ingestion.workbench import UNREADABLE, unreadable
from gtea.runtime.progress import Progress, no_progress
from gtea.store.schema import EventColumns, Format, NodeColumns

Input = str | os.PathLike[str] | object
"""A file name, a glob, a frame, or the address of a database."""


def as_list(inputs: Input | Sequence[Input]) -> list[Input]:
    """One or several inputs as a non-empty list."""
    items = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    if not items:
        raise UsageError("inputs: must name at least one file or frame (got none). Add one.")
    return items


def event_columns(
    inputs: Sequence[Input],
    format: Format,
    src: str | None,
    dst: str | None,
    time: str | None,
    features: tuple[str, ...],
    categorical: tuple[str, ...],
) -> EventColumns:
    """The requested event columns. JODIE and SNAP files have fixed columns."""
    if format == "jodie":
        if src or dst or time:
            raise UsageError("--format jodie: --src, --dst and --time are fixed. Leave them out.")
        if not features and not categorical:
            first = find_files([item for item in inputs if isinstance(item, str | os.PathLike)])[0]
            features = read_jodie_layout(first).columns[4:]
        return EventColumns("user_id", "item_id", "timestamp", features, categorical)
    if format == "snap":
        if src or dst or time or features or categorical:
            raise UsageError(
                "--format snap: the columns are fixed. Leave out --src, --dst, --time, --features and --categorical."
            )
        return EventColumns(*SnapLayout().columns)
    missing = [option for option, value in (("--src", src), ("--dst", dst), ("--time", time)) if not value]
    if missing:
        raise UsageError(f"{', '.join(missing)}: must be given. Name the column of the input.")
    return EventColumns(str(src), str(dst), str(time), features, categorical)


def node_columns(
    node_inputs: Sequence[Input], node_id: str | None, features: tuple[str, ...], labels: Sequence[str]
) -> NodeColumns | None:
    """The columns of the node table, or None if there is none."""
    if not node_inputs:
        if node_id or features:
            raise UsageError("--node-id, --node-features: need --nodes FILE. Add it, or drop them.")
        return None
    if not node_id:
        raise UsageError("--node-id: must be given with --nodes. Name the column that holds the account.")
    columns = NodeColumns(node_id, features)
    check_node_columns(columns, labels)
    return columns


def label_columns_of(labels: str | os.PathLike[str] | None, node_inputs: Sequence[Input]) -> tuple[str, ...]:
    """The columns of the labels file except the first, which holds the account."""
    if labels is None:
        return ()
    (path,) = find_files([labels])
    for item in node_inputs:
        if isinstance(item, str | os.PathLike) and path in find_files([item]):
            raise UsageError(
                f"{path.name}: is given as --labels and as --nodes. Labels can't be features; drop --nodes."
            )
    if file_format(path, "auto") == "parquet":
        try:
            return tuple(pq.read_schema(path).names[1:])
        except UNREADABLE as error:
            raise unreadable(path.name, error) from error
    return read_layout(path, ()).columns[1:]


@dataclass(frozen=True)
class ReadOptions:
    """How one delivery is read: checks, memory, progress. These may differ from one delivery to the next."""

    bad_rows: BadRows = "error"
    quarantine: Path | None = None
    allow_any_date: bool = False
    memory: str = "4GB"
    progress: Progress = no_progress
