"""Stores in object stores: brought to this machine by digest, and sent there so that nobody sees half of one.

There a store has the files that it has here. Its manifest is read first, as it would be from a disk: it may come from
anybody. Then come the arrays that this machine doesn't have yet, each checked against its digest. Sent are the arrays
of a version first, and the manifest last; no array that a manifest there names is ever replaced.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path

from gtea.errors import StoreError
from gtea.runtime.object_cache import RemoteFile, bring_folder
from gtea.runtime.progress import Progress, no_progress
from gtea.runtime.remote_folder import RemoteAddress, RemoteFolder
from gtea.store.integrity import require_digests
from gtea.store.manifest import MANIFEST, MAX_MANIFEST, REPORT, Manifest, read_manifest
from gtea.store.store import Store


def bring_store(address: RemoteAddress, progress: Progress = no_progress) -> Path:
    """The folder of a local copy of the current version of a store."""
    remote = RemoteFolder(address, StoreError)
    content = remote.read(MANIFEST, MAX_MANIFEST)
    manifest = _parsed(remote, content)
    files = {
        f"{manifest.folder}/{array['file']}": RemoteFile(array["sha256"], array["bytes"])
        for array in manifest.arrays.values()
    }
    report = (json.dumps(manifest.data_report, indent=2, ensure_ascii=False) + "\n").encode()
    name = hashlib.sha256(content).hexdigest()
    return bring_folder(remote, name, files, {REPORT: report, MANIFEST: content}, StoreError, progress)


def send_store(store: Path, address: RemoteAddress, progress: Progress = no_progress) -> None:
    """Put the current version of a store where nothing is yet, or an earlier version of it."""
    opened, remote = Store.open(store), RemoteFolder(address, StoreError)
    require_digests(opened)
    manifest = opened.manifest
    if remote.has(MANIFEST):
        there = _parsed(remote, remote.read(MANIFEST, MAX_MANIFEST))
        if there == manifest:
            return
        if there.folder >= manifest.folder:
            raise StoreError(
                f"{address}: has another store, whose readers must not see it change (its version is {there.folder}). "
                "Choose another address, or delete it first."
            )
    names = [f"{manifest.folder}/{array['file']}" for array in manifest.arrays.values()]
    for done, name in enumerate([*names, REPORT, MANIFEST]):
        if name != REPORT or (opened.path / REPORT).is_file():
            remote.put(name, opened.path / name)
        progress("uploading", (done + 1) / (len(names) + 2))


def _parsed(remote: RemoteFolder, content: bytes) -> Manifest:
    """A manifest, checked as one that is on a disk."""
    with tempfile.TemporaryDirectory(prefix="gtea-") as folder:
        (Path(folder) / MANIFEST).write_bytes(content)
        try:
            return read_manifest(Path(folder))
        except StoreError as error:
            lines = (line.replace(folder, str(remote.address)) for line in error.lines)
            raise StoreError(*lines) from None
