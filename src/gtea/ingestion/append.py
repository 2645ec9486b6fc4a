"""Append new events to a store as a new version, read with the schema of the store."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gtea.errors import UsageError
from gtea.ingestion.array_writer import ArrayFolder
from gtea.ingestion.bad_rows import BadRows
from gtea.ingestion.ingest import build_version
from gtea.ingestion.ingest_request import Input, ReadOptions, as_list
from gtea.ingestion.merge import Merged, OnDuplicate, merge
from gtea.ingestion.numbered_events import NumberedEvents
from gtea.ingestion.query_result import DatabaseQuery, with_query
from gtea.ingestion.sources import file_digest
from gtea.ingestion.table_files import find_files
from gtea.ingestion.workbench import Workbench
from gtea.runtime.progress import Progress, no_progress
from gtea.store.integrity import require_digests
from gtea.store.layout import FORMAT_VERSION
from gtea.store.manifest import DataReport, Manifest, map_array, read_manifest
from gtea.store.publish import next_folder, publish, writing
from gtea.store.schema import Schema
from gtea.store.store import Store
from gtea.store.time_units import StoredUnit, date_text, unit_ratio


def append(
    store: str | os.PathLike[str],
    inputs: Input | Sequence[Input],
    *,
    nodes: Input | Sequence[Input] | None = None,
    on_duplicate: OnDuplicate = "error",
    bad_rows: BadRows = "error",
    allow_any_date: bool = False,
    query: str | None = None,
    once: bool = False,
    memory: str = "4GB",
    progress: Progress = no_progress,
) -> Store:
    """Merge new events (and accounts) into a store and open the new version.

    The arrays are byte for byte the same as if all inputs had been ingested at once, in the same order. Readers of
    the old version keep it. A process that is killed at any time leaves the old version in place.

    Args:
        nodes: More rows of the node table, if the store was made with one.
        on_duplicate: What to do with events that the store already has, equal in every column: ``error`` stops,
            ``drop`` leaves them out, ``keep`` adds them as separate events.
        query: The SQL to send, if the input is the address of a database.
        once: Leave out files that the store names among its sources, with the same name and content, and queries
            whose rows it has from the same database. What is named there is in the store: both are one write. Frames
            have no digest and are always read. Of ``NumberedEvents``, those that the store holds are always left out.
    """
    given, given_nodes = with_query(as_list(inputs), query), [] if nodes is None else as_list(nodes)
    path = Path(store).absolute()
    read_manifest(path)
    with writing(path) as scratch:
        old = Store.open(path)
        # Merging reads every byte anyway, and the digests of what it writes would make damage look right.
        require_digests(old)
        old.require_bounds()  # an index below 0 would count from the end
        schema = Schema.from_json(old.manifest.schema)
        _check_appendable(schema, nodes is not None)
        read_before = _deliveries(old.manifest.sources) if once else set()
        given, given_nodes = _not_read(given, read_before), _not_read(given_nodes, read_before)
        given = _not_held(given, old.manifest.sources)
        if not given:
            return old
        options = ReadOptions(bad_rows, path.with_name(f"{path.name}.bad_rows.csv"), allow_any_date, memory, progress)
        new = _build_delivery(scratch / "delivery", old, schema, given, given_nodes, options)
        if isinstance(given[0], DatabaseQuery) and _deliveries(new.manifest.sources) <= read_before:
            return old
        work = scratch / "merge"
        work.mkdir()
        with (
            Workbench(work, memory=memory, progress=progress) as bench,
            ArrayFolder(scratch / "version") as arrays,
        ):
            progress("merging", None)
            merged = merge(bench, arrays, old, new, on_duplicate)
            manifest = _manifest(old, new, merged, arrays.close(), next_folder(path), on_duplicate)
        publish(path, scratch / "version", manifest)
    return Store.open(path)


def _check_appendable(schema: Schema, with_nodes: bool) -> None:
    if schema.min_events_per_edge > 1 or schema.max_degree:
        raise UsageError(
            "append: the store must not be filtered (got one made with --min-events-per-edge or --max-degree; the "
            "events it left out can't be counted now). Ingest all files again."
        )
    if with_nodes and schema.node_columns is None:
        raise UsageError("--nodes: this store was made without a node table. Ingest again with --nodes.")


def _deliveries(sources: Sequence[dict[str, Any]]) -> set[tuple[str, str]]:
    """The name and the digest of each source that has one."""
    return {(str(source["name"]), str(source["sha256"])) for source in sources if source.get("sha256")}


def _not_read(inputs: Sequence[Input], before: set[tuple[str, str]]) -> list[Input]:
    """The inputs without the files that were read before. A query is recognised by its rows, once they are read."""
    if not before:
        return list(inputs)
    kept: list[Input] = []
    for item in inputs:
        files = find_files([item]) if isinstance(item, str | os.PathLike) else []
        kept += [path for path in files if (path.name, file_digest(path)) not in before] if files else [item]
    return kept


def _not_held(inputs: Sequence[Input], sources: Sequence[dict[str, Any]]) -> list[Input]:
    """The inputs without the numbered events that the store holds."""
    kept = [item.not_held(sources) if isinstance(item, NumberedEvents) else item for item in inputs]
    return [item for item in kept if item is not None]


def _build_delivery(
    folder: Path,
    old: Store,
    schema: Schema,
    inputs: Sequence[Input],
    nodes: Sequence[Input],
    options: ReadOptions,
) -> Store:
    """Build a small store of the new events, with a time unit at least as fine as the old store's."""
    folder.mkdir()
    finest: StoredUnit = "s" if old.unit == "step" else old.unit  # type: ignore[assignment]
    manifest = build_version(folder, inputs, nodes, schema, options, "version", finest)
    version = folder / "version"
    return Store(version, manifest, {name: map_array(version, array) for name, array in manifest.arrays.items()})


def _manifest(
    old: Store,
    new: Store,
    merged: Merged,
    described: dict[str, dict[str, Any]],
    folder: str,
    on_duplicate: OnDuplicate,
) -> Manifest:
    before, added = old.manifest, new.manifest
    scale = unit_ratio(old.unit, new.unit)
    firsts = [t for t in (_scaled(before.time["first"], scale), added.time["first"]) if t is not None]
    lasts = [t for t in (_scaled(before.time["last"], scale), added.time["last"]) if t is not None]
    time = {"unit": new.unit, "first": min(firsts, default=None), "last": max(lasts, default=None)}
    return dataclasses.replace(
        before,
        format_version=FORMAT_VERSION,
        folder=folder,
        counts={
            "nodes": merged.num_nodes,
            "edges": merged.num_edges,
            "events": merged.num_events,
            "self_loops": before.counts["self_loops"] + added.counts["self_loops"],
        },
        time=time,
        arrays=described,
        sources=before.sources + added.sources,
        data_report=_report(before.data_report, added.data_report, merged, time, on_duplicate),
        created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        gtea_version=added.gtea_version,
    )


def _scaled(time: int | None, scale: int) -> int | None:
    return None if time is None else time * scale


def _report(
    before: DataReport,
    added: DataReport,
    merged: Merged,
    time: dict[str, Any],
    on_duplicate: OnDuplicate,
) -> DataReport:
    """Combine two data reports, so that every row of every delivery is counted."""
    dropped = _sum(before["dropped"], added["dropped"])
    if on_duplicate == "drop" and merged.redelivered:
        dropped = _sum(dropped, {"redelivered": merged.redelivered})
    rows_in = before["rows_in"] + added["rows_in"]
    assert rows_in == merged.num_events + sum(dropped.values()), "a row was lost without being counted"
    return {
        "rows_in": rows_in,
        "rows_kept": merged.num_events,
        "dropped": dropped,
        "self_loops": before["self_loops"] + added["self_loops"],
        "duplicates": merged.duplicates,
        "time": {
            "unit": time["unit"],
            "first": None if time["first"] is None else date_text(time["first"], time["unit"]),
            "last": None if time["last"] is None else date_text(time["last"], time["unit"]),
            "rounded": before["time"]["rounded"] + added["time"]["rounded"],
        },
        "nodes": {**_sum(before["nodes"], added["nodes"]), **merged.nodes_without_row},
        "quarantine": added["quarantine"] or before["quarantine"],
        "notes": list(dict.fromkeys([*before["notes"], *added["notes"]])),
    }


def _sum(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}
