"""The manifest of a store, ``manifest.json``, and the mapping of the arrays that it describes.

A manifest may come from anybody. What it says about the arrays must be exactly what ``gtea.store.layout`` says for its
own counts: the file, the dtype, the shape and the size of each. Nothing is mapped before that is checked, and only
regular files of the version's own folder are. Its own digest shows whether it was damaged by accident; it does not
protect against somebody who computes a new one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from gtea.errors import StoreError
from gtea.runtime.json_shape import Either, Every, Natural, Pattern, Words, misshapen
from gtea.runtime.plain_files import NotPlainError, PlainFile, open_plain, read_plain
from gtea.store.layout import (
    FORMAT_NAME,
    FORMAT_VERSION,
    MAX_NODES,
    NODE_IDS,
    READABLE_VERSIONS,
    array_dtypes,
    array_shapes,
    vocabulary_name,
)

MANIFEST = "manifest.json"

REPORT = "data_report.json"
_RESTORE = "Restore it from a backup or ingest again."
_LAST_TIME = 2**63 - 1
"""The cut of everything is the last time plus one, which must fit into 64 bits."""


class DataReport(TypedDict, total=False):
    """What became of every row of the input. Empty for a store built in memory."""

    rows_in: int
    rows_kept: int
    dropped: dict[str, int]
    """By reason."""
    self_loops: int
    duplicates: int
    time: dict[str, Any]
    nodes: dict[str, int]
    quarantine: str | None
    notes: list[str]


@dataclass(frozen=True)
class Manifest:
    """Counts, schema, the digest of every array, the sources of the data, and what happened to every row."""

    folder: str
    counts: dict[str, int]
    """nodes, edges, events (in the store), self_loops (in the input)."""
    time: dict[str, Any]
    """unit (s, us, ns or step), first and last stored time (None for an empty store)."""
    schema: dict[str, Any]
    """How the input was read. Appends use the same schema."""
    arrays: dict[str, dict[str, Any]]
    """name -> file, dtype, shape, bytes, sha256."""
    sources: list[dict[str, Any]]
    data_report: DataReport
    created: str
    gtea_version: str
    format: str = FORMAT_NAME
    format_version: int = FORMAT_VERSION

    @property
    def digest(self) -> str:
        """The sha256 over the content of all arrays. Stores with equal digests hold the same bytes."""
        lines = [f"{name} {array['sha256']}\n" for name, array in sorted(self.arrays.items())]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """The content of ``manifest.json``, short and important parts first."""
        fields = dataclasses.asdict(self)
        order = ["format", "format_version", "gtea_version", "created", "folder", "counts", "time", "schema"]
        content = {name: fields[name] for name in (*order, "arrays", "sources", "data_report")}
        return {**content, _OWN_DIGEST: _own_digest(content)}


_OWN_DIGEST = "sha256"
MAX_MANIFEST = 1 << 28
"""The most bytes of a manifest. The names of columns and sources are all that can be long."""
_SHA256 = Pattern("[0-9a-f]{64}", "a sha256 in 64 hexadecimal digits")
_ARRAY = {"file": str, "dtype": str, "shape": [Natural], "bytes": Natural, "sha256": _SHA256}
_SHAPE = {
    "format": Words(FORMAT_NAME),
    "format_version": int,
    "gtea_version": str,
    "created": str,
    "folder": Pattern(r"v[0-9]{6}", "the name of a version, such as v000001"),
    "counts": {"nodes": Natural, "edges": Natural, "events": Natural, "self_loops": Natural},
    "time": {"unit": Words("s", "us", "ns", "step"), "first": Either(int, None), "last": Either(int, None)},
    "schema": {
        "columns": {"src": str, "dst": str, "time": str, "features": [str], "categorical": [str]},
        "node_columns": Either({"node_id": str, "features": [str]}, None),
        "format": Words("auto", "csv", "tsv", "parquet", "jodie", "snap"),
        "delimiter": Either(str, None),
        "time_unit": Words("auto", "s", "ms", "us", "ns", "days", "step"),
        "timezone": str,
        "directed": bool,
        "self_loops": Words("drop", "keep"),
        "min_events_per_edge": Natural,
        "max_degree": Natural,
    },
    "arrays": Every(_ARRAY),
    "sources": [Every(Either(str, int, None))],
    "data_report": {
        "rows_in": Natural,
        "rows_kept": Natural,
        "dropped": Every(Natural),
        "self_loops": Natural,
        "duplicates": Natural,
        "time": {"unit": str, "first": Either(str, None), "last": Either(str, None), "rounded": Natural},
        "nodes": Every(Natural),
        "quarantine": Either(str, None),
        "notes": [str],
    },
}


def read_manifest(store: Path) -> Manifest:
    """Read and validate a store's manifest."""
    path = store / MANIFEST
    try:
        # A user may name a store through a link. Its files are files.
        content = json.loads(read_plain(store, MANIFEST, MAX_MANIFEST, through_link=True))
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, FileNotFoundError) or not store.is_dir():
            remedy = "Make one with gtea ingest." if not store.exists() else "Check the path."
            raise StoreError(f"{store}: is not a store (it has no {MANIFEST}). {remedy}") from error
        raise StoreError(f"{path}: can't be read ({error}). {_RESTORE}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT_NAME:
        raise StoreError(f"{path}: is not the manifest of a gtea store. Check the path.")
    if content.get("format_version") not in READABLE_VERSIONS:
        raise StoreError(
            f"{store}: must have format version {' or '.join(map(str, READABLE_VERSIONS))} "
            f"(got {content.get('format_version')!r}). "
            f"Ingest again, or use the gtea that wrote it ({content.get('gtea_version', 'of unknown version')})."
        )
    # Stores of gtea 0.1 have format version 1, and no digest of the manifest itself.
    recorded = content.pop(_OWN_DIGEST, None) if content["format_version"] > 1 else _own_digest(content)
    fault = next(_faults(content), None)
    if fault is None and recorded != _own_digest(content):
        fault = "it was changed after it was written: its own sha256 differs"
    if fault is not None:
        raise StoreError(f"{path}: is damaged ({fault}). {_RESTORE}")
    return Manifest(**content)


def _own_digest(content: dict[str, Any]) -> str:
    """The sha256 of a manifest, whatever the order of its names."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _faults(content: dict[str, Any]) -> Iterator[str]:
    """What a manifest says that can't be. Each test relies on those before it."""
    fault = misshapen(content, _SHAPE, "manifest")
    if fault is not None:
        yield fault
        return
    counts, time, schema = content["counts"], content["time"], content["schema"]
    if counts["nodes"] > MAX_NODES or counts["edges"] > counts["events"]:
        yield f"counts must be possible (got {counts})"
    span = time["first"], time["last"]
    if (None in span) != (counts["events"] == 0) or (None not in span and not span[0] <= span[1] < _LAST_TIME):
        yield f"time must have the first and the last time of the events, in this order (got {span})"
    yield from _array_faults(content["arrays"], counts, schema)
    report = content["data_report"]
    if report["rows_in"] != report["rows_kept"] + sum(report["dropped"].values()):
        yield "data_report must have as many rows in as rows kept and dropped"
    if report["rows_kept"] != counts["events"]:
        yield f"data_report must have kept as many rows as there are events (got {report['rows_kept']})"


def _array_faults(arrays: dict[str, Any], counts: dict[str, int], schema: dict[str, Any]) -> Iterator[str]:
    """Differences from what the format says about each array."""
    columns, node_columns = schema["columns"], schema["node_columns"]
    tables = (NODE_IDS, *(vocabulary_name(number) for number in range(len(columns["categorical"]))))
    dtypes = array_dtypes(tables, with_nodes=node_columns is not None)
    if set(arrays) != set(dtypes):
        yield f"arrays must be {', '.join(sorted(dtypes))} (got {', '.join(sorted(arrays))})"
        return
    widths = {
        "event_features": len(columns["features"]),
        "event_categories": len(columns["categorical"]),
        "node_features": 0 if node_columns is None else len(node_columns["features"]),
    }
    shapes = array_shapes(counts, {name: described["shape"] for name, described in arrays.items()}, widths)
    for name, described in arrays.items():
        size = math.prod(shapes[name]) * np.dtype(dtypes[name]).itemsize
        expected = {"file": f"{name}.bin", "dtype": dtypes[name], "shape": list(shapes[name]), "bytes": size}
        for key, value in expected.items():
            if described[key] != value:
                yield f"arrays.{name}.{key} must be {value!r} (got {described[key]!r})"
    slots = arrays["slot_edge"]["shape"][0]
    if not counts["edges"] <= slots <= 2 * counts["edges"]:
        yield f"slots must be one or two of each edge (got {slots} of {counts['edges']} edges)"


def map_array(folder: Path, described: dict[str, Any]) -> NDArray[Any]:
    """Map one array into memory. The cost doesn't depend on its size. Links are not followed."""
    path, size = folder / described["file"], described["bytes"]
    with open_array(folder, described) as handle:
        if handle.size != size:
            raise StoreError(
                f"{path}: must have {size} bytes (got {handle.size}). The file was truncated or changed; "
                "restore it from a backup or ingest again."
            )
        if size == 0:
            return np.zeros(tuple(described["shape"]), dtype=described["dtype"])
        content = mmap.mmap(handle.number, size, access=mmap.ACCESS_READ)
    return np.frombuffer(content, dtype=described["dtype"]).reshape(tuple(described["shape"]))


@contextlib.contextmanager
def open_array(folder: Path, described: dict[str, Any]) -> Iterator[PlainFile]:
    """Open the file of an array for reading: a regular file in the folder itself, not a link to another place."""
    try:
        with open_plain(folder, described["file"]) as file:
            yield file
    except NotPlainError as error:
        raise _not_a_file(folder / described["file"]) from error


def _not_a_file(path: Path) -> StoreError:
    return StoreError(f"{path}: must be a regular file in a folder of the store (got a link or a device). {_RESTORE}")
