"""Make the digests fit again after a change, as somebody would who knows the formats."""

from __future__ import annotations

import contextlib
import hashlib
import json
import struct

from tests.fuzz.folders import Content, Files


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
    """Write the digests of a model's files, and of the manifest itself, into the manifest."""
    name = f"{folder}/manifest.json"
    content = files.get(name)
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
        manifest = json.loads(content)  # type: ignore[arg-type]
        manifest.pop("sha256", None)
        for file in manifest["files"]:
            part = files[f"{folder}/{file}"]
            if isinstance(part, bytes):
                manifest["files"][file] = hashlib.sha256(part).hexdigest()
        return {**files, name: _with_digest(manifest)}
    return files


def forge_run(files: Files, folder: str) -> Files:
    """Write the digest of each checkpoint of a run into its header."""
    return {**files, **{name: _with_own_digest(content) for name, content in files.items() if name.startswith(folder)}}


def _with_own_digest(content: Content) -> Content:
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError, struct.error):
        (length,) = struct.unpack("<Q", content[:8])  # type: ignore[index]
        recorded = json.loads(content[8 : 8 + length])["__metadata__"]["sha256"].encode()  # type: ignore[index]
        blank = content.replace(recorded, b"0" * 64, 1)  # type: ignore[union-attr]
        return blank.replace(b"0" * 64, hashlib.sha256(blank).hexdigest().encode(), 1)
    return content


def _with_digest(manifest: dict[str, object]) -> bytes:
    digest = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    return json.dumps({**manifest, "sha256": digest}).encode()
