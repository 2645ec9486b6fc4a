"""An on-disk cache of edge embeddings, so that a killed run can resume and later scoring runs can reuse them.

    DIR/manifest.json                   the model, data and cut of the embeddings; written first
    DIR/slots-000000000000.safetensors  e_tilde and alpha_tilde of one chunk of slots; the number is its first slot

Chunks are written atomically. A folder of another model, other data or another cut is rejected, never overwritten.
Slots without an event before the cut have rows too, but these are not used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save

from gtea.errors import StoreError, UsageError
from gtea.models.model_folder import SavedModel
from gtea.nn.edge_encoder import EdgeEncoder
from gtea.runtime.files import atomic_write, holds_only_drafts, locked, write_json
from gtea.runtime.json_shape import strict_json
from gtea.runtime.plain_files import read_plain
from gtea.scoring.edge_pass import EdgeRows
from gtea.store.store import Store

CHUNK = 1 << 18
"""The number of slots per chunk: seconds of computation, tens of megabytes."""
_MANIFEST = "manifest.json"
_MAX_HEADER = 1 << 20
_FORMAT = {"format": "gtea-edges", "format_version": 1}


class EdgeCache:
    """The cached chunks of one model, store and cut."""

    def __init__(self, folder: Path, num_slots: int, chunk: int) -> None:
        self.chunk = chunk
        self._folder = folder
        self._num_slots = num_slots

    def slots(self, number: int) -> range:
        """Return the slots of a chunk."""
        return range(number * self.chunk, min((number + 1) * self.chunk, self._num_slots))

    def read(self, number: int, encoder: EdgeEncoder) -> EdgeRows | None:
        """Return the rows of a chunk, or None if it has not been computed yet.

        Args:
            encoder: What computed them, for their sizes.
        """
        path, like = self._path(number), EdgeRows.empty(len(self.slots(number)), encoder)
        try:
            rows = _read_rows(path, like)
        except FileNotFoundError:
            return None
        except (SafetensorError, OSError, KeyError, ValueError) as error:
            raise StoreError(f"{path}: has been changed or cut. Delete it; it will be computed again.") from error
        return rows

    def write(self, number: int, rows: EdgeRows) -> None:
        """Write the rows of a chunk."""
        content = save(
            {"e_tilde": rows.e_tilde, "alpha_tilde": rows.alpha_tilde}, metadata={"sha256": _digest_of(rows)}
        )
        with atomic_write(self._path(number)) as stream:
            stream.write(content)

    def _path(self, number: int) -> Path:
        return self._folder / f"slots-{number * self.chunk:012d}.safetensors"


@contextlib.contextmanager
def edge_cache(folder: Path, saved: SavedModel, store: Store, cut: int, *, chunk: int = CHUNK) -> Iterator[EdgeCache]:
    """Open the cache in a folder, or create it. Only one process at a time can open it.

    Args:
        folder: The folder of the cache.
        saved: The model.
        store: The store.
        cut: The cut, as a stored time.
        chunk: The number of slots per chunk.

    Raises:
        UsageError: The folder belongs to another model, other data or another cut, or is not a cache.
        StoreError: Another process uses the cache, or its manifest is damaged.
    """
    num_slots = len(store.arrays.slot_edge)
    expected = {
        **_FORMAT,
        "model": model_digest(saved),
        "data": store.digest,
        "as_of": cut,
        "num_slots": num_slots,
        "slots_per_chunk": chunk,
    }
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--cache {folder}: must be a folder (got a file). Choose another one.")
    in_use = StoreError(f"{folder}: another gtea process is using this cache. Wait until it has finished.")
    with locked(folder, in_use):
        _check_manifest(folder, expected)
        yield EdgeCache(folder, num_slots, chunk)


def model_digest(saved: SavedModel) -> str:
    """Return a sha256 of everything that determines the edge embeddings."""
    digest = hashlib.sha256(save(dict(sorted(saved.weights.items()))))
    digest.update(json.dumps([saved.config["run"], saved.preprocessing], sort_keys=True).encode())
    return digest.hexdigest()


def _check_manifest(folder: Path, expected: dict[str, Any]) -> None:
    manifest = folder / _MANIFEST
    if not manifest.exists():
        if not holds_only_drafts(manifest):
            raise UsageError(
                f"--cache {folder}: must be empty or a cache of gtea (got other files). Choose another folder."
            )
        write_json(manifest, expected)
        return
    try:
        found = strict_json(read_plain(folder, _MANIFEST, _MAX_HEADER, through_link=True))
    except (OSError, ValueError) as error:
        raise StoreError(f"{manifest}: can't be read ({error}). Delete the folder, or choose another.") from error
    stored = found if isinstance(found, dict) else {}
    different = [name for name, value in expected.items() if stored.get(name) != value]
    if different:
        raise UsageError(
            f"--cache {folder}: belongs to another model, store or cut (different: {', '.join(different)}). "
            "Choose another folder, or delete this one."
        )


def _read_rows(path: Path, like: EdgeRows) -> EdgeRows:
    """The rows in the file of a chunk. Raises a ValueError if they are not those that were written."""
    most = _MAX_HEADER + like.e_tilde.nbytes + like.alpha_tilde.nbytes
    content = read_plain(path.parent, path.name, most, through_link=True)
    found = load(content)
    rows = EdgeRows(found["e_tilde"], found["alpha_tilde"])
    for tensor, expected in ((rows.e_tilde, like.e_tilde), (rows.alpha_tilde, like.alpha_tilde)):
        if tensor.dtype != expected.dtype or tensor.shape != expected.shape:
            raise ValueError("rows of another size")
    end = 8 + int.from_bytes(content[:8], "little")
    if strict_json(content[8:end]).get("__metadata__") != {"sha256": _digest_of(rows)}:
        raise ValueError("another digest")
    return rows


def _digest_of(rows: EdgeRows) -> str:
    digest = hashlib.sha256(rows.e_tilde.contiguous().numpy().data)
    digest.update(rows.alpha_tilde.contiguous().numpy().data)
    return digest.hexdigest()
