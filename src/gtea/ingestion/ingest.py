"""Build and publish a store from files or frames: ``gtea.ingest``."""

from __future__ import annotations

import dataclasses
import datetime as dt
import importlib.metadata
import logging
import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

from gtea.errors import UsageError
from gtea.ingestion.adjacency import write_adjacency
from gtea.ingestion.array_writer import ArrayFolder
from gtea.ingestion.bad_rows import BadRows, BadRowsFound, refuse_bad_rows, write_quarantine
from gtea.ingestion.build import (
    BuiltEvents,
    EventTotals,
    create_keyed_view,
    create_vocabularies,
    write_events,
    write_vocabularies,
)
from gtea.ingestion.columns import check_event_columns
from gtea.ingestion.filters import filter_edges
from gtea.ingestion.ingest_request import Input, ReadOptions, as_list, event_columns, label_columns_of, node_columns
from gtea.ingestion.keys import create_accounts, create_id_keys, integers_are_keys, write_accounts, write_edge_ends
from gtea.ingestion.ledger import Ledger
from gtea.ingestion.node_table import create_clean_nodes, write_node_features
from gtea.ingestion.numbered_events import NumberedEvents
from gtea.ingestion.query_result import DatabaseQuery, with_query
from gtea.ingestion.sources import Scan, Source, open_file, open_frame, open_query
from gtea.ingestion.staging import (
    check_events,
    common_id_type,
    create_clean_view,
    stage_events,
    stage_nodes,
    staged_types,
)
from gtea.ingestion.table_files import find_files
from gtea.ingestion.time_facts import StagedTimes
from gtea.ingestion.time_plan import TimePlan, plan_times, stated_unit
from gtea.ingestion.workbench import Workbench
from gtea.runtime.progress import Progress, no_progress
from gtea.store.manifest import Manifest
from gtea.store.publish import next_folder, publish, scratch_for
from gtea.store.schema import Format, Schema
from gtea.store.store import Store
from gtea.store.time_units import StoredUnit, TimeUnit


def ingest(
    inputs: Input | Sequence[Input],
    *,
    out: str | os.PathLike[str],
    src: str | None = None,
    dst: str | None = None,
    time: str | None = None,
    features: Sequence[str] = (),
    categorical: Sequence[str] = (),
    nodes: Input | Sequence[Input] | None = None,
    node_id: str | None = None,
    node_features: Sequence[str] = (),
    labels: str | os.PathLike[str] | None = None,
    time_unit: TimeUnit = "auto",
    timezone: str = "UTC",
    allow_any_date: bool = False,
    format: Format = "auto",
    delimiter: str | None = None,
    bad_rows: BadRows = "error",
    directed: bool = False,
    self_loops: Literal["drop", "keep"] = "drop",
    min_events_per_edge: int = 0,
    max_degree: int = 0,
    overwrite: bool = False,
    query: str | None = None,
    memory: str = "4GB",
    progress: Progress = no_progress,
) -> Store:
    """Read events, build a store at ``out``, and open it.

    The options are those of ``gtea ingest``; ``gtea ingest --help`` explains each. The store appears at ``out``
    atomically, and only if everything succeeded.

    Args:
        inputs: File names, globs, frames (pandas, polars, pyarrow, DuckDB, anything with an Arrow stream), or the
            address of a database.
        labels: A labels file. It is not read into the store, but its columns are refused as features.
        overwrite: Replace an existing store at ``out``.
        query: The SQL to send, if the input is the address of a database.
    """
    declared = with_query(as_list(inputs), query)
    if query is not None and (format != "auto" or delimiter):
        raise UsageError("--format, --delimiter: are about files (got --query, too). Leave them out.")
    node_inputs = [] if nodes is None else as_list(nodes)
    columns = event_columns(declared, format, src, dst, time, tuple(features), tuple(categorical))
    label_columns = label_columns_of(labels, node_inputs)
    check_event_columns(columns, label_columns)
    described_nodes = node_columns(node_inputs, node_id, tuple(node_features), label_columns)
    if min_events_per_edge < 0 or max_degree < 0:
        raise UsageError("--min-events-per-edge, --max-degree: must not be negative. 0 turns the filter off.")
    schema = Schema(
        columns,
        described_nodes,
        format,
        delimiter,
        stated_unit(format, time_unit, timezone),
        timezone,
        directed,
        self_loops,
        min_events_per_edge,
        max_degree,
    )
    path = Path(out).absolute()
    options = ReadOptions(bad_rows, quarantine_of(path), allow_any_date, memory, progress)
    with scratch_for(path, overwrite=overwrite) as scratch:
        manifest = build_version(scratch, declared, node_inputs, schema, options, next_folder(path))
        publish(path, scratch / "version", manifest)
    return opened_with_notes(path)


def quarantine_of(store: Path) -> Path:
    """The file for bad rows of a store."""
    return store.with_name(f"{store.name}.bad_rows.csv")


def opened_with_notes(path: Path) -> Store:
    """Open a store that has just been made, and log what its user should know."""
    store = Store.open(path)
    for note in store.report["notes"]:
        logging.getLogger("gtea").warning("%s: %s", path.name, note)
    return store


def build_version(
    scratch: Path,
    inputs: Sequence[Input],
    node_inputs: Sequence[Input],
    schema: Schema,
    options: ReadOptions,
    folder: str,
    finest: StoredUnit = "s",
) -> Manifest:
    """Build the arrays of a version in ``scratch/version`` and return their manifest."""
    files = find_files([item for item in (*inputs, *node_inputs) if isinstance(item, str | os.PathLike)])
    with (
        Workbench(scratch, inputs=files, memory=options.memory, progress=options.progress) as bench,
        ArrayFolder(scratch / "version") as arrays,
        ThreadPoolExecutor(1) as hashing,
    ):
        events = _open_all(bench, inputs, schema, schema.columns.all, "events")
        nodes = _open_all(bench, node_inputs, schema, schema.node_columns.all if schema.node_columns else (), "nodes")
        scans = [hashing.submit(source.scan) for source in (*events, *nodes)]
        ledger = Ledger()
        times, text = _read(bench, events, nodes, scans, schema, options, finest, ledger)
        built, num_nodes = _write(bench, arrays, schema, text, ledger, scratch)
        arrays.finish_open()
        write_adjacency(bench, arrays, num_nodes)
        sources = [source.described(scan.result()) for source, scan in zip((*events, *nodes), scans, strict=True)]
        described = arrays.close()
    return manifest_of(folder, num_nodes, built, times, schema, ledger, sources, described)


def manifest_of(
    folder: str,
    num_nodes: int,
    built: EventTotals,
    times: TimePlan,
    schema: Schema,
    ledger: Ledger,
    sources: list[dict[str, Any]],
    arrays: dict[str, dict[str, Any]],
) -> Manifest:
    """The manifest of a version that has just been built."""
    return Manifest(
        folder=folder,
        counts={
            "nodes": num_nodes,
            "edges": built.num_edges,
            "events": built.num_events,
            "self_loops": ledger.self_loops,
        },
        time={"unit": times.unit, "first": built.first_time, "last": built.last_time},
        schema=dataclasses.replace(schema, time_unit=times.input_unit).to_json(),
        arrays=arrays,
        sources=sources,
        data_report=ledger.report(built, times),
        created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        gtea_version=importlib.metadata.version("gtea"),
    )


def _read(
    bench: Workbench,
    events: Sequence[Source],
    nodes: Sequence[Source],
    scans: Sequence[Future[Scan]],
    schema: Schema,
    options: ReadOptions,
    finest: StoredUnit,
    ledger: Ledger,
) -> tuple[TimePlan, bool]:
    """Stage, check and convert the input: creates ``clean`` and, with a node table, ``clean_nodes``.

    Also returns whether account ids are read as text.
    """
    columns = schema.columns
    node_id = schema.node_columns.node_id if schema.node_columns else ""
    id_type = common_id_type(events, columns, nodes, node_id)
    event_scans, node_scans = scans[: len(events)], scans[len(events) :]
    types = staged_types(events, columns, id_type)
    staged = stage_events(bench, events, event_scans, columns, jodie=schema.format == "jodie", types=types)
    subject = f"{events[0].name}, column {columns.time!r}"
    times = plan_times(
        StagedTimes(bench, subject),
        staged.types["t"],
        subject=subject,
        time_unit=schema.time_unit,
        timezone=schema.timezone,
        allow_any_date=options.allow_any_date,
        finest=finest,
    )
    found = check_events(bench, staged, times)
    found_nodes = (
        stage_nodes(bench, nodes, node_scans, schema.node_columns, id_type=id_type)
        if schema.node_columns and nodes
        else None
    )
    ledger.quarantine = _handle_bad_rows([found, *([found_nodes] if found_nodes else [])], options)
    ledger.rows_in = sum(item.rows_in for item in staged.loaded)
    ledger.bad = found.counts
    create_clean_view(bench, staged, times, found.good)
    if found_nodes is not None and schema.node_columns is not None:
        ledger.nodes["table_rows_dropped"] = found_nodes.total
        ledger.nodes["table_rows_repeated"] = create_clean_nodes(bench, len(schema.node_columns.features), found_nodes)
    return times, not integers_are_keys(bench, id_type)


def _write(
    bench: Workbench, arrays: ArrayFolder, schema: Schema, text: bool, ledger: Ledger, scratch: Path
) -> tuple[BuiltEvents, int]:
    """Filter and sort the events, number the accounts, and write everything except the slots."""
    shape = schema.columns.shape
    with_nodes = "table_rows_dropped" in ledger.nodes
    if text:
        create_id_keys(bench, with_node_table=with_nodes)
    create_vocabularies(bench, shape)
    write_vocabularies(bench, arrays, shape)
    ledger.self_loops_kept = schema.self_loops == "keep"
    ledger.self_loops = int(bench.row("SELECT count(*) FILTER (WHERE src = dst) FROM clean")[0])
    keep_self_loops = ledger.self_loops_kept
    create_keyed_view(bench, shape, text=text, directed=schema.directed, keep_self_loops=keep_self_loops)
    filtered = schema.min_events_per_edge > 1 or schema.max_degree > 0
    if filtered:
        ledger.filtered = filter_edges(bench, schema.min_events_per_edge, schema.max_degree)
    built = write_events(bench, arrays, shape, "kept" if filtered else "keyed", scratch)
    arrays.finish_open()
    num_nodes = create_accounts(bench, text=text, filtered=filtered, with_node_table=with_nodes, ends=built.ends)
    write_accounts(bench, arrays)
    write_edge_ends(bench, arrays, built.ends)
    if with_nodes and schema.node_columns is not None:
        num_features = len(schema.node_columns.features)
        ledger.nodes["without_table_row"] = write_node_features(bench, arrays, num_features)
    return built, num_nodes


def _open_all(
    bench: Workbench, inputs: Sequence[Input], schema: Schema, wanted: Sequence[str], kind: str
) -> list[Source]:
    sources: list[Source] = []
    for item in inputs:
        if isinstance(item, DatabaseQuery):
            sources.append(open_query(bench, item, wanted))
            continue
        if isinstance(item, NumberedEvents):
            source = open_frame(bench, item.frame, f"{kind} frame {len(sources) + 1}")
            sources.append(dataclasses.replace(source, numbered=item))
            continue
        if not isinstance(item, str | os.PathLike):
            sources.append(open_frame(bench, item, f"{kind} frame {len(sources) + 1}"))
            continue
        declared: Format = "auto" if kind == "nodes" else schema.format
        sources += [
            open_file(bench, path, wanted=wanted, declared=declared, delimiter=schema.delimiter)
            for path in find_files([item])
        ]
    return sources


def _handle_bad_rows(found: Sequence[BadRowsFound], options: ReadOptions) -> str | None:
    """Refuse, skip or quarantine bad rows, as requested. Returns the name of the quarantine file, if any."""
    if options.bad_rows == "error":
        for table in found:
            refuse_bad_rows(table.first_messages(), table.total)
        return None
    if options.bad_rows == "quarantine" and options.quarantine is not None and any(table.total for table in found):
        write_quarantine((row.cells() for table in found for row in table.each()), options.quarantine)
        return options.quarantine.name
    return None
