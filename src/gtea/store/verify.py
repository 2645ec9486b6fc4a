"""Check every digest and every invariant of the store format against the bytes on disk, for ``gtea verify``."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.files import write_json
from gtea.runtime.plain_files import read_plain
from gtea.store.integrity import digest_faults
from gtea.store.manifest import REPORT, Manifest, read_manifest
from gtea.store.publish import require_report_file
from gtea.store.store import Store
from gtea.store.strings import StringTable

_CHUNK = 1 << 22


def verify(path: Path, progress: Callable[[str, float | None], None]) -> list[str]:
    """Return the faults of a store, one line for each. An empty list means that the store is intact."""
    manifest = read_manifest(path)
    require_report_file(path)
    faults: list[str] = []
    for done, (name, described) in enumerate(manifest.arrays.items()):
        progress("checking digests", done / len(manifest.arrays))
        faults += digest_faults(path / manifest.folder, name, described)
    if faults:
        return faults  # damaged arrays would break the invariants, too
    progress("checking invariants", None)
    store = Store.open(path)
    # What points outside would break the other tests, or let them take any amount of memory.
    faults = store.bound_faults() or [*_string_faults(store), *_event_faults(store), *_slot_faults(store)]
    _fix_report(path, manifest)
    return faults


def _string_faults(store: Store) -> Iterator[str]:
    tables: list[tuple[str, StringTable]] = [("node_id", store.accounts)]
    tables += [(f"vocabulary_{i}", table) for i, table in enumerate(store.vocabularies)]
    for name, table in tables:
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


def _event_faults(store: Store) -> Iterator[str]:
    arrays, offset = store.arrays, store.arrays.edge_offset
    if store.num_edges == 0:
        return
    a, b = arrays.edge_a.astype(np.int64), arrays.edge_b.astype(np.int64)
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
        # Not by differences: that of two int64 may not fit into one.
        if ((times[start + 1 : stop] < times[start : stop - 1]) & ~starts[start + 1 : stop]).any():
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
        current = json.loads(read_plain(path, REPORT, _CHUNK, through_link=True))
    except (OSError, ValueError, RecursionError):
        current = None
    if current != manifest.data_report:
        with contextlib.suppress(OSError):  # on read-only media, only the manifest's report is right
            write_json(path / REPORT, manifest.data_report)
