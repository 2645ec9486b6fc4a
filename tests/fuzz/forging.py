"""Make the digests fit again after a change, as somebody would who knows the formats."""

from __future__ import annotations

import contextlib
import hashlib
import json

from tests.fuzz.folders import Files


def forge_store(files: Files, folder: str) -> Files:
    """Write the digests of a store's arrays, and of the manifest itself, into the manifest."""
    name = f"{folder}/manifest.json"
    content = files.get(name)
    # What is too strange for its digests to be written stays as it is.
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
        manifest = json.loads(content)  # type: ignore[arg-type]
        manifest.pop("sha256", None)
        for described in manifest["arrays"].values():
            array = files[f"{folder}/{manifest['folder']}/{described['file']}"]
            if isinstance(array, bytes):
                described["sha256"] = hashlib.sha256(array).hexdigest()
        return {**files, name: _with_digest(manifest)}
    return files


def forge_model(files: Files, folder: str) -> Files:
    """Write the digests of a model's files into its manifest."""
    name = f"{folder}/manifest.json"
    content = files.get(name)
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
        manifest = json.loads(content)  # type: ignore[arg-type]
        for file in manifest["files"]:
            part = files[f"{folder}/{file}"]
            if isinstance(part, bytes):
                manifest["files"][file] = hashlib.sha256(part).hexdigest()
        return {**files, name: json.dumps(manifest).encode()}
    return files


def _with_digest(manifest: dict[str, object]) -> bytes:
    digest = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    return json.dumps({**manifest, "sha256": digest}).encode()
