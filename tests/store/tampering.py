"""Change a store as somebody would who knows its format: all digests fit again afterwards."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.store.manifest import MANIFEST, read_manifest


def change_manifest(store: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the content of the manifest, and give it the right digest of its own."""
    content = json.loads((store / MANIFEST).read_text(encoding="utf-8"))
    content.pop("sha256", None)
    change(content)
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    (store / MANIFEST).write_text(json.dumps({**content, "sha256": digest}), encoding="utf-8")


def change_array(store: Path, name: str, change: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
    """Change the values of an array, and its digest in the manifest."""
    manifest = read_manifest(store)
    described = manifest.arrays[name]
    path = store / manifest.folder / described["file"]
    values = change(np.fromfile(path, dtype=described["dtype"]))
    np.ascontiguousarray(values, dtype=described["dtype"]).tofile(path)

    def with_digest(content: dict[str, Any]) -> None:
        content["arrays"][name]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()

    change_manifest(store, with_digest)
