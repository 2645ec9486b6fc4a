"""Check every digest and every invariant of the store format against the bytes on disk, for ``gtea verify``."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import StoreError
from gtea.runtime.files import write_json
from gtea.store.layout import DTYPES
from gtea.store.manifest import REPORT, Manifest, map_array, read_manifest
from gtea.store.store import Store
from gtea.store.strings import StringTable

_CHUNK = 1 << 22


def verify(path: Path, progress: Callable[[str, float | None], None]) -> list[str]:
    """Return the faults of a store, one line for each. An empty list means that the store is intact."""
    manifest = read_manifest(path)
    faults: list[str] = []
    for done, (name, described) in enumerate(manifest.arrays.items()):
        progress("checking digests", done / len(manifest.arrays))
        faults += _digest_faults(path / manifest.folder, name, described)
    if faults:
        return faults  # damaged arrays would break the invariants, too
    progress("checking invariants", None)
    store = Store.open(path)
    faults = [*_count_faults(store), *_string_faults(store), *_event_faults(store), *_slot_faults(store)]
    _fix_report(path, manifest)
    return faults


def _digest_faults(folder: Path, name: str, described: dict[str, Any]) -> Iterator[str]:
    path = folder / described["file"]
    try:
        map_array(folder, described)
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        yield f"{name}: the file {path.name} is missing"
    except StoreError as error:
        yield str(error)
    except (ValueError, OSError) as error:
        yield f"{name}: can't be mapped ({error})"
    else:
        if found != described["sha256"]:
            wanted = described["sha256"]
            yield f"{name}: the content of {path.name} has changed (sha256 {found[:12]}..., must be {wanted[:12]}...)"


def _count_faults(store: Store) -> Iterator[str]:
    arrays, counts = store.arrays, store.manifest.counts
    lengths = {
        "nodes": {"node_id": len(store.accounts), "node_offset": len(arrays.node_offset) - 1},
        "edges": {
            "edge_a": len(arrays.edge_a),
            "edge_b": len(arrays.edge_b),
            "edge_offset": len(arrays.edge_offset) - 1,
            "edge_first_time": len(arrays.edge_first_time),
            "edge_last_time": len(arrays.edge_last_time),
        },
        "events": {
            "event_time": len(arrays.event_time),
            "event_reverse": len(arrays.event_reverse),
            "event_features": len(arrays.event_features),
            "event_categories": len(arrays.event_categories),
        },
    }
    for kind, found in lengths.items():
        for name, length in found.items():
            if length != counts[kind]:
                yield f"{name}: must have one row for each of the {counts[kind]} {kind} (got {length})"
    for name, described in store.manifest.arrays.items():
        if name in DTYPES and described["dtype"] != DTYPES[name]:
            yield f"{name}: must have dtype {DTYPES[name]} (got {described['dtype']})"
    report = store.report
    if report["rows_in"] != report["rows_kept"] + sum(report["dropped"].values()):
        yield "data_report: rows in must be rows kept plus rows dropped"


def _string_faults(store: Store) -> Iterator[str]:
    tables: list[tuple[str, StringTable]] = [("node_id", store.accounts)]
    tables += [(f"vocabulary_{i}", table) for i, table in enumerate(store.vocabularies)]
    for name, table in tables:
        if table.offsets[0] != 0 or table.offsets[-1] != len(table.data) or (np.diff(table.offsets) < 0).any():
            yield f"{name}: offsets must rise from 0 to the end of the bytes"
            continue
        previous = None
        for start in range(0, len(table), _CHUNK):
            words = [
                word.encode() for word in table.take(np.arange(start, min(start + _CHUNK, len(table)))).to_pylist()
            ]
            ordered = words if previous is None else [previous, *words]
            if any((len(first), first) >= (len(second), second) for first, second in itertools.pairwise(ordered)):
                yield f"{name}: strings must be distinct and in order"
                break
            previous = words[-1]
    for column, table in enumerate(store.vocabularies):
        codes = store.arrays.event_categories[:, column]
        if len(codes) and (codes.min() < 0 or codes.max() >= len(table)):
            yield f"event_categories: column {column} has a code that is not in its vocabulary"


def _event_faults(store: Store) -> Iterator[str]:
    arrays, num_nodes = store.arrays, store.num_nodes
    offset = arrays.edge_offset
    if len(offset) == 0 or offset[0] != 0 or offset[-1] != store.num_events or (np.diff(offset) <= 0).any():
        yield "edge_offset: must rise from 0 to the number of events, at least one event an edge"
        return
    if store.num_edges == 0:
        return
    a, b = arrays.edge_a.astype(np.int64), arrays.edge_b.astype(np.int64)
    if min(a.min(), b.min()) < 0 or max(a.max(), b.max()) >= num_nodes:
        yield "edge_a, edge_b: must be numbers of nodes"
    keys = a * (1 << 32) + b
    if (np.diff(keys) <= 0).any():
        yield "edges: must be distinct and ordered by (a, b)"
    if not store.directed and (a > b).any():
        yield "edges: a must not be greater than b in an undirected store"
    times = arrays.event_time
    if (times[offset[:-1]] != arrays.edge_first_time).any() or (times[offset[1:] - 1] != arrays.edge_last_time).any():
        yield "edge_first_time, edge_last_time: must be the times of the edge's first and last event"
    starts = np.zeros(len(times), dtype=bool)
    starts[offset[:-1]] = True
    for start in range(0, len(times), _CHUNK):
        stop = min(start + _CHUNK + 1, len(times))
        if ((np.diff(times[start:stop]) < 0) & ~starts[start + 1 : stop]).any():
            yield "event_time: events of an edge must be in time order"
            break
    span = store.manifest.time
    if (int(times.min()), int(times.max())) != (span["first"], span["last"]):
        yield "manifest: time span must be that of the events"
    if len(arrays.event_reverse) and arrays.event_reverse.max() > 1:
        yield "event_reverse: must be 0 or 1"
    if not np.isfinite(arrays.event_features).all():
        yield "event_features: must be finite"


def _slot_faults(store: Store) -> Iterator[str]:
    """Rebuild the slots from the edges in memory, and compare."""
    arrays = store.arrays
    a, b = arrays.edge_a, arrays.edge_b
    other = a != b
    edge = np.arange(store.num_edges)
    node = np.concatenate([a, b[other]])
    slot_edge = np.concatenate([edge, edge[other]])
    neighbour = np.concatenate([b, a[other]])
    first = arrays.edge_first_time[slot_edge]
    order = np.lexsort((slot_edge, first, node))
    offset = np.concatenate([[0], np.cumsum(np.bincount(node, minlength=store.num_nodes))])
    expected: dict[str, NDArray[Any]] = {
        "node_offset": offset,
        "slot_neighbour": neighbour[order],
        "slot_edge": slot_edge[order],
        "slot_first_time": first[order],
    }
    for name, values in expected.items():
        if not np.array_equal(getattr(arrays, name), values):
            yield f"{name}: doesn't agree with the edges"


def _fix_report(path: Path, manifest: Manifest) -> None:
    """Rewrite ``data_report.json``, a readable copy of the manifest's report, if a kill left it out of date."""
    try:
        current = json.loads((path / REPORT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        current = None
    if current != manifest.data_report:
        with contextlib.suppress(OSError):  # on read-only media, only the manifest's report is right
            write_json(path / REPORT, manifest.data_report)
