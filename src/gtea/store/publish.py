"""How a store comes into being and changes: one rename, and the old one stays whole until then.

    STORE/manifest.json      names the current version; replaced in one step, always last
    STORE/data_report.json   the current version's data report, for people
    STORE/v000001/           the arrays of a version; never changed once it is there
    STORE/.new-xxxxxxxx/     scratch of a running append or overwrite
    .STORE.new-xxxxxxxx/     beside it: scratch of a first ingest; the store inside it is renamed into place

A killed process leaves at most a scratch folder or a version that no manifest names. Both are swept by the
next writer. Advisory locks tell what is in use: a writer locks its scratch and the store's folder, a reader
the version it has open, so nothing is swept under anybody's hands and a crash frees every lock by itself.
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
    """A scratch folder for a new store at a path where there is none yet, or for a store to be replaced."""
    if store.exists() and any(store.iterdir() if store.is_dir() else [store]):
        if not (store / MANIFEST).exists():
            raise UsageError(f"{store}: exists and is not a store. Choose another --out.")
        if not overwrite:
            raise UsageError(
                f"{store}: exists. Choose another --out, add to it with gtea append, or replace it with --overwrite."
            )
        with writing(store) as inside:
            yield inside
        return
    store.parent.mkdir(parents=True, exist_ok=True)
    with _scratch(store.parent, f".{store.name}.new-") as beside:
        yield beside


@contextlib.contextmanager
def writing(store: Path) -> Iterator[Path]:
    """The right to change a store, and a scratch folder inside it. Only one process has it at a time."""
    with _lock(store, exclusive=True) as mine:
        if not mine:
            raise StoreError(f"{store}: another gtea process is writing to it. Wait until it has finished.")
        sweep(store)
        with _scratch(store, ".new-") as inside:
            yield inside


def publish(store: Path, built: Path, manifest: Manifest) -> None:
    """Make the arrays in ``built`` (a folder in the scratch) the current version of the store."""
    sync_folder(built)
    if (store / MANIFEST).exists():
        built.rename(store / manifest.folder)
        sync_folder(store)
        write_json(store / MANIFEST, manifest.to_json())
        write_json(store / REPORT, manifest.data_report)
        return
    whole = built.parent / "store"
    whole.mkdir()
    built.rename(whole / manifest.folder)
    write_json(whole / REPORT, manifest.data_report)
    write_json(whole / MANIFEST, manifest.to_json())
    try:
        whole.rename(store)
    except OSError as error:
        raise StoreError(f"{store}: somebody else made it meanwhile. Choose another --out.") from error
    sync_folder(store.parent)


def sweep(store: Path) -> None:
    """Delete what a killed writer left in a store, and old versions that nobody reads any more."""
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
            if not folder.exists():  # swept between mkdir and lock by somebody who took it for stale
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
    """Hold an advisory lock on a folder while the body runs; yields whether it could be had."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield try_lock(handle, exclusive=exclusive)
    finally:
        os.close(handle)


def next_folder(store: Path) -> str:
    """The name of the version after the newest one, published or not."""
    numbers = [int(p.name[1:]) for p in store.glob("v*") if _VERSION.fullmatch(p.name)] if store.exists() else []
    return f"v{max(numbers, default=0) + 1:06d}"
