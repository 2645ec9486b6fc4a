"""Make the digests fit again after a change, as somebody would who knows the formats."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import struct
from typing import Any

from tests.fuzz.folders import Content, Files

_TOO_STRANGE = (ValueError, TypeError, KeyError, AttributeError, RecursionError, AssertionError, struct.error)
"""What is raised by content whose digests can't be written: it stays as it is."""


def forge_store(files: Files, folder: str) -> Files:
    """Write the digests of a store's arrays, and of the manifest itself, into the manifest."""
    name = f"{folder}/manifest.json"
    content = files.get(name)
    with contextlib.suppress(*_TOO_STRANGE):
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
    with contextlib.suppress(*_TOO_STRANGE):
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


def forge_state(files: Files, name: str) -> Files:
    """Write the digests of a state's arrays and of its header into it."""
    content = files.get(name)
    with contextlib.suppress(*_TOO_STRANGE):
        assert isinstance(content, bytes)
        start = 40 + int.from_bytes(content[:8], "little")
        header = json.loads(content[40:start])
        forged = _with_array_digests(header, content[start:])
        return {**files, name: struct.pack("<Q", len(forged)) + _sha256(forged) + forged + content[start:]}
    return files


def forge_parts(files: Files, folder: str) -> Files:
    """The same for the files of tasks in a folder."""
    parts = {name: content for name, content in files.items() if name.startswith(folder) and name.endswith(".part")}
    return {**files, **{name: _forged_part(content) for name, content in parts.items()}}


def _forged_part(content: Content) -> Content:
    with contextlib.suppress(*_TOO_STRANGE):
        assert isinstance(content, bytes)
        end = len(content) - 48
        start = end - int.from_bytes(content[end : end + 8], "little")
        forged = _with_array_digests(json.loads(content[start:end]), content[:start])
        return content[:start] + forged + struct.pack("<Q", len(forged)) + _sha256(forged) + content[end + 40 :]
    return content


def _with_array_digests(header: dict[str, Any], arrays: bytes) -> bytes:
    for described in header["arrays"].values():
        size = math.prod(described["shape"]) * int(described["dtype"][2:])
        part = arrays[described["offset"] : described["offset"] + size]
        described["sha256"] = hashlib.sha256(part).hexdigest()
    return json.dumps(header).encode()


def _sha256(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _with_own_digest(content: Content) -> Content:
    with contextlib.suppress(*_TOO_STRANGE):
        (length,) = struct.unpack("<Q", content[:8])  # type: ignore[index]
        recorded = json.loads(content[8 : 8 + length])["__metadata__"]["sha256"].encode()  # type: ignore[index]
        blank = content.replace(recorded, b"0" * 64, 1)  # type: ignore[union-attr]
        return blank.replace(b"0" * 64, hashlib.sha256(blank).hexdigest().encode(), 1)
    return content


def _with_digest(manifest: dict[str, object]) -> bytes:
    digest = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    return json.dumps({**manifest, "sha256": digest}).encode()
