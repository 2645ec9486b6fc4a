"""Create and update a store atomically: a single rename publishes the new version.

    STORE/manifest.json      names the current version; replaced atomically, always last
    STORE/data_report.json   the data report of the current version, in a readable copy
    STORE/v000001/           the arrays of a version; never changed after it is published
    STORE/.new-xxxxxxxx/     scratch folder of a running append or overwrite
    .STORE.new-xxxxxxxx/     next to the store: scratch folder of a first ingest, renamed into place at the end

A killed process leaves at most a scratch folder or a version that no manifest names. The next writer deletes both.
Advisory locks show what is in use: a writer locks its scratch folder and the store's folder, a reader locks the
version that it has open. Folders in use are never deleted, and a crash releases every lock.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from gtea.errors import StoreError, UsageError
from gtea.runtime.files import sync_folder, try_lock, write_json
from gtea.store.manifest import MANIFEST, REPORT, Manifest, read_manifest

_VERSION = re.compile(r"v\d{6}")


@contextlib.contextmanager
def scratch_for(store: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a scratch folder for a new store, or for one that replaces the store at this path."""
    if store.exists() and any(store.iterdir() if store.is_dir() else [store]):
        if not (store / MANIFEST).exists():
            raise UsageError(f"{store}: exists and is not a store. Choose another --out.")
        if not overwrite:
            raise UsageError(
                f"{store}: exists. Choose another --out, add to it with gtea append, or replace it with --overwrite."
            )
        with writing(store) as scratch:
            yield scratch
        return
    store.parent.mkdir(parents=True, exist_ok=True)
    with _scratch(store.parent, f".{store.name}.new-") as scratch:
        yield scratch


@contextlib.contextmanager
def writing(store: Path) -> Iterator[Path]:
    """Lock a store for writing and yield a scratch folder inside it. Only one process can hold the lock."""
    with _lock(store, exclusive=True) as acquired:
        if not acquired:
            raise StoreError(f"{store}: another gtea process is writing to it. Wait until it has finished.")
        _sweep(store)
        with _scratch(store, ".new-") as scratch:
            yield scratch


def publish(store: Path, built: Path, manifest: Manifest) -> None:
    """Make the arrays in ``built``, a folder inside the scratch folder, the current version of the store."""
    sync_folder(built)
    if (store / MANIFEST).exists():
        built.rename(store / manifest.folder)
        sync_folder(store)
        write_json(store / MANIFEST, manifest.to_json())
        write_json(store / REPORT, manifest.data_report)
        return
    draft = built.parent / "store"
    draft.mkdir()
    built.rename(draft / manifest.folder)
    write_json(draft / REPORT, manifest.data_report)
    write_json(draft / MANIFEST, manifest.to_json())
    try:
        draft.rename(store)
    except OSError as error:
        raise StoreError(f"{store}: another process created it in the meantime. Choose another --out.") from error
    sync_folder(store.parent)


def _sweep(store: Path) -> None:
    """Delete what killed writers left in a store, and old versions that no reader has open."""
    current = read_manifest(store).folder
    for entry in (*store.iterdir(), *store.parent.glob(f".{store.name}.new-*")):
        if ".new-" in entry.name or (_VERSION.fullmatch(entry.name) and entry.name != current):
            _sweep_folder(entry)


@contextlib.contextmanager
def _scratch(parent: Path, prefix: str) -> Iterator[Path]:
    for stale in parent.glob(f"{prefix}*"):
        _sweep_folder(stale)
    while True:
        folder = parent / f"{prefix}{secrets.token_hex(4)}"
        folder.mkdir()
        with _lock(folder, exclusive=True):
            if not folder.exists():  # another writer swept it as stale between mkdir and lock
                continue
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            return


def _sweep_folder(folder: Path) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), _lock(folder, exclusive=True) as unused:
        if unused:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _lock(folder: Path, *, exclusive: bool) -> Iterator[bool]:
    """Hold an advisory lock on a folder while the body runs. Yields whether the lock was acquired."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield try_lock(handle, exclusive=exclusive)
    finally:
        os.close(handle)


def next_folder(store: Path) -> str:
    """The folder name of the next version: one after the newest folder, published or not."""
    numbers = [int(p.name[1:]) for p in store.glob("v*") if _VERSION.fullmatch(p.name)] if store.exists() else []
    return f"v{max(numbers, default=0) + 1:06d}"
