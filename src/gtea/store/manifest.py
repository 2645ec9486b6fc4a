"""The manifest of a store, ``manifest.json``, and the mapping of the arrays that it describes."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from gtea.errors import StoreError
from gtea.store.layout import FORMAT_NAME, FORMAT_VERSION

MANIFEST = "manifest.json"

REPORT = "data_report.json"


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
        return {name: fields[name] for name in (*order, "arrays", "sources", "data_report")}


def read_manifest(store: Path) -> Manifest:
    """Read and validate a store's manifest."""
    path = store / MANIFEST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        remedy = "Make one with gtea ingest." if not store.exists() else "Check the path."
        raise StoreError(f"{store}: is not a store (it has no {MANIFEST}). {remedy}") from error
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: can't be read ({error}). Restore it from a backup or ingest again.") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT_NAME:
        raise StoreError(f"{path}: is not the manifest of a gtea store. Check the path.")
    if content.get("format_version") != FORMAT_VERSION:
        raise StoreError(
            f"{store}: must have format version {FORMAT_VERSION} (got {content.get('format_version')}). "
            f"Ingest again, or use the gtea that wrote it ({content.get('gtea_version', 'of unknown version')})."
        )
    try:
        return Manifest(**content)
    except TypeError as error:
        raise StoreError(f"{path}: is damaged ({error}). Restore it from a backup or ingest again.") from error


def map_array(folder: Path, described: dict[str, Any]) -> NDArray[Any]:
    """Map one array into memory. The cost doesn't depend on its size."""
    path = folder / described["file"]
    size = path.stat().st_size
    if size != described["bytes"]:
        raise StoreError(
            f"{path}: must have {described['bytes']} bytes (got {size}). "
            "The file was truncated or changed; restore it from a backup or ingest again."
        )
    shape = tuple(described["shape"])
    if size == 0:
        return np.zeros(shape, dtype=described["dtype"])
    return np.memmap(path, dtype=described["dtype"], mode="r", shape=shape).view(np.ndarray)
