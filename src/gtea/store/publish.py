"""Create and update a store atomically: a single rename publishes the new version.

    STORE/manifest.json      names the current version; replaced atomically, always last
    STORE/data_report.json   the data report of the current version, in a readable copy
    STORE/v000001/           the arrays of a version; never changed after it is published

A running append or overwrite has a draft folder in the store. A first ingest has one next to the store and renames the
complete store into place at the end (``gtea.runtime.files`` has drafts).

A killed process leaves at most a draft or a version that no manifest names. The next writer deletes both. Advisory
locks show what is in use: a writer locks its draft and the store's folder, a reader locks the version that it has open.
Folders in use are never deleted, and a crash releases every lock.
"""

from __future__ import annotations

import contextlib
import errno
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from gtea.errors import StoreError, UsageError
from gtea.runtime.files import delete_unused, draft_folder, json_draft, locked, sweep_drafts, sync_folder, write_json
from gtea.store.manifest import MANIFEST, REPORT, Manifest, read_manifest

_VERSION = re.compile(r"v\d{6}")
_SCRATCH = "version"


@contextlib.contextmanager
def scratch_for(store: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a scratch folder for a new store, or for one that replaces the store at this path."""
    with writing(store) if is_replaced(store, overwrite=overwrite) else draft_folder(store) as scratch:
        yield scratch


def is_replaced(store: Path, *, overwrite: bool) -> bool:
    """Whether a new store would replace one. Refuses a path where something else is, or a store that is to stay."""
    if not store.exists() or not any(store.iterdir() if store.is_dir() else [store]):
        return False
    if not (store / MANIFEST).exists():
        raise UsageError(f"{store}: exists and is not a store. Choose another --out.")
    if not overwrite:
        raise UsageError(
            f"{store}: exists. Choose another --out, add to it with gtea append, or replace it with --overwrite."
        )
    return True


@contextlib.contextmanager
def writing(store: Path) -> Iterator[Path]:
    """Lock a store for writing and yield a scratch folder inside it. Only one process can hold the lock."""
    busy = StoreError(f"{store}: another gtea process is writing to it. Wait until it has finished.")
    with locked(store, busy):
        require_report_file(store)
        _sweep(store)
        with draft_folder(store / _SCRATCH, shown=store) as scratch:
            yield scratch


def require_report_file(store: Path) -> None:
    """Refuse a store in which something else stands where the data report goes: the new version is published first."""
    report = store / REPORT
    if not report.is_symlink() and report.exists() and not report.is_file():
        raise StoreError(f"{report}: must be a file (got a folder, a pipe or a device). Delete it, and verify again.")


def publish(store: Path, built: Path, manifest: Manifest) -> None:
    """Make the arrays in ``built``, a folder inside the scratch folder, the current version of the store."""
    sync_folder(built)
    if built.parent.parent == store:
        _publish_version(store, built, manifest)
        return
    draft = built.parent / "store"
    draft.mkdir()
    built.rename(draft / manifest.folder)
    write_json(draft / REPORT, manifest.data_report)
    write_json(draft / MANIFEST, manifest.to_json())
    move_into_place(draft, store)


def _publish_version(store: Path, built: Path, manifest: Manifest) -> None:
    """Make a version of a store the current one. Without room for all of it, the disk is left as it was."""
    _keep_permissions(store, built)
    version = store / manifest.folder
    built.rename(version)
    try:
        sync_folder(store)
        # The report is complete before the manifest is replaced: an error about it must not come when all is published.
        with json_draft(store / REPORT, manifest.data_report):
            write_json(store / MANIFEST, manifest.to_json())
    except BaseException:
        if read_manifest(store).folder != manifest.folder:
            version.rename(built)  # which is deleted with the draft
        raise


def move_into_place(draft: Path, folder: Path) -> None:
    """Rename a complete folder to its final path, where nothing or an empty folder must be."""
    try:
        draft.rename(folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        raise StoreError(f"{folder}: another process created it in the meantime. Choose another --out.") from error
    sync_folder(folder.parent)


def _keep_permissions(store: Path, built: Path) -> None:
    """Let nobody read the new version who could not read the old one."""
    old = store / read_manifest(store).folder
    for file in built.iterdir():
        file.chmod(stat.S_IMODE((store / MANIFEST).stat().st_mode))
    built.chmod(stat.S_IMODE(old.stat().st_mode))


def _sweep(store: Path) -> None:
    """Delete what killed writers left in a store, and old versions that no reader has open."""
    current = read_manifest(store).folder
    sweep_drafts(store)
    for entry in store.iterdir():
        if _VERSION.fullmatch(entry.name) and entry.name != current and _holds_arrays(entry):
            delete_unused(entry)


def _holds_arrays(version: Path) -> bool:
    """Whether a folder has nothing but arrays in it: then it is a version, and no folder of the user's."""
    return version.is_dir() and all(entry.suffix == ".bin" for entry in version.iterdir())


def next_folder(store: Path) -> str:
    """The folder name of the next version: one after the newest folder, published or not."""
    numbers = [int(p.name[1:]) for p in store.glob("v*") if _VERSION.fullmatch(p.name)] if store.exists() else []
    return f"v{max(numbers, default=0) + 1:06d}"
