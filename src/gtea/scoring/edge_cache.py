"""Edge embeddings kept on disk, so that a killed run resumes and later scoring reuses them.

    DIR/manifest.json               which model, data and cut they belong to; written first
    DIR/slots-000000000000.safetensors  e_tilde and alpha_tilde of so many slots of the store, from that one on

Chunks are written atomically. A folder that belongs to another model, other data or another cut is refused, never
overwritten. Slots without an event before the cut have rows too, which are not read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from gtea.errors import StoreError, UsageError
from gtea.models.model_folder import SavedModel
from gtea.runtime.files import atomic_write, locked, write_json
from gtea.scoring.edge_pass import EdgeRows
from gtea.store.store import Store

CHUNK = 1 << 18
"""How many slots a chunk holds: seconds of work, some tens of megabytes."""
_MANIFEST = "manifest.json"
_FORMAT = {"format": "gtea-edges", "format_version": 1}


class EdgeCache:
    """The chunks of one model, store and cut."""

    def __init__(self, folder: Path, num_slots: int, chunk: int) -> None:
        self.chunk = chunk
        self._folder = folder
        self._num_slots = num_slots

    def slots(self, number: int) -> range:
        """The slots of a chunk."""
        return range(number * self.chunk, min((number + 1) * self.chunk, self._num_slots))

    def read(self, number: int) -> EdgeRows | None:
        """The rows of a chunk, or None if it has not been computed yet."""
        path = self._path(number)
        if not path.exists():
            return None
        try:
            with safe_open(path, framework="pt") as stored:
                rows = EdgeRows(stored.get_tensor("e_tilde"), stored.get_tensor("alpha_tilde"))
                intact = stored.metadata() == {"sha256": _digest_of(rows)}
        except (SafetensorError, OSError):
            intact = False
        if not intact or len(rows.alpha_tilde) != len(self.slots(number)):
            raise StoreError(f"{path}: has been changed or cut. Delete it; it will be computed again.")
        return rows

    def write(self, number: int, rows: EdgeRows) -> None:
        """Keep the rows of a chunk."""
        content = save(
            {"e_tilde": rows.e_tilde, "alpha_tilde": rows.alpha_tilde}, metadata={"sha256": _digest_of(rows)}
        )
        with atomic_write(self._path(number)) as stream:
            stream.write(content)

    def _path(self, number: int) -> Path:
        return self._folder / f"slots-{number * self.chunk:012d}.safetensors"


@contextlib.contextmanager
def edge_cache(folder: Path, saved: SavedModel, store: Store, cut: int, *, chunk: int = CHUNK) -> Iterator[EdgeCache]:
    """The cache in a folder: made if there is none, refused if it belongs to something else; one process at a time."""
    num_slots = len(store.arrays.slot_edge)
    wanted = {
        **_FORMAT,
        "model": model_digest(saved),
        "data": store.digest,
        "as_of": cut,
        "num_slots": num_slots,
        "slots_per_chunk": chunk,
    }
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--cache {folder}: must be a folder. Give another one.")
    busy = StoreError(f"{folder}: another gtea process is using this cache. Wait until it has finished.")
    with locked(folder, busy):
        _require_ours(folder, wanted)
        yield EdgeCache(folder, num_slots, chunk)


def model_digest(saved: SavedModel) -> str:
    """One sha256 over everything that decides an edge's embedding."""
    digest = hashlib.sha256(save(dict(sorted(saved.weights.items()))))
    digest.update(json.dumps([saved.config["run"], saved.preprocessing], sort_keys=True).encode())
    return digest.hexdigest()


def _require_ours(folder: Path, wanted: dict[str, Any]) -> None:
    manifest = folder / _MANIFEST
    if not manifest.exists():
        if any(entry.name != f".{_MANIFEST}.new" for entry in folder.iterdir()):
            raise UsageError(f"--cache {folder}: must be empty or a cache of gtea. Give another folder.")
        write_json(manifest, wanted)
        return
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{manifest}: can't be read ({error}). Delete the folder, or give another.") from error
    known = found if isinstance(found, dict) else {}
    other = [name for name, value in wanted.items() if known.get(name) != value]
    if other:
        raise UsageError(
            f"--cache {folder}: belongs to something else (its {', '.join(other)} differ). "
            "Give another folder, or delete this one."
        )


def _digest_of(rows: EdgeRows) -> str:
    digest = hashlib.sha256(rows.e_tilde.contiguous().numpy().data)
    digest.update(rows.alpha_tilde.contiguous().numpy().data)
    return digest.hexdigest()
