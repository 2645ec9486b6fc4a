"""Atomic writes that survive a power failure, and locks that are released when their process ends. POSIX only.

What is not yet complete is a draft: ``.NAME.gtea-`` and 16 random digits, next to its final path. It is created
exclusively, so it is nobody else's and no link is followed, and it is locked while its process lives. A draft without a
lock was left by a killed process, and the next writer of the same path deletes it. Nothing else is ever deleted.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from gtea.errors import UsageError
from gtea.runtime.disk_errors import DRAFT, disk_error
from gtea.runtime.plain_files import NotPlainError

# Draft names must stay within the 255 bytes that a name can have, and a character can have four.
_NAME_PART = 48


@contextlib.contextmanager
def atomic_write(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Yield a stream whose content replaces the file in one step when the body finishes.

    If the body fails, the old file is left unchanged. The new file has the permissions of the old one. A link is
    replaced, and what it points to is left unchanged.

    Args:
        durable: Whether the content is on disk in the end. Else a power failure may leave a file that is cut: for files
            whose readers check a digest, and make them again.
    """
    with _draft(path, _new_file) as (draft, handle):
        if path.exists() and not path.is_file():
            raise UsageError(f"{path}: must be a file (got a folder or a device). Name the file to write.")
        _keep_permissions(path, handle)
        with os.fdopen(handle, "wb", closefd=False) as stream:
            yield stream
            stream.flush()
            if durable:
                os.fsync(handle)
        draft.replace(path)
        if durable:
            sync_folder(path.parent)


@contextlib.contextmanager
def appended(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream to the end of a file, which is made if it is not there. A link or a device is not written to."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        with os.fdopen(handle, "ab") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise NotPlainError(errno.EINVAL, "is not a regular file", str(path))
            yield stream
    except OSError as error:
        found = disk_error(error, path)
        if found is None:
            raise
        raise found from error


@contextlib.contextmanager
def draft_folder(path: Path, *, shown: Path | None = None) -> Iterator[Path]:
    """Yield an empty folder next to ``path``, in which to build it. What is left in it is deleted at the end.

    Args:
        shown: What errors about the disk name, if not the path.
    """
    with _draft(path, _new_folder, shown=shown) as (draft, _):
        yield draft


def sweep_drafts(path: Path) -> None:
    """Delete the drafts of a path that killed processes have left behind."""
    drafts = _drafts(path)
    with os.scandir(path.parent) as entries:
        stale = [entry.name for entry in entries if drafts.fullmatch(entry.name)]
    for name in stale:
        delete_unused(path.with_name(name))


def holds_only_drafts(path: Path) -> bool:
    """Whether the folder of a path is empty, apart from what a process that was killed while writing it has left."""
    drafts = _drafts(path)
    return path.parent.is_dir() and all(drafts.fullmatch(entry.name) for entry in path.parent.iterdir())


def delete_unused(place: Path) -> None:
    """Delete a file or a folder, unless a process has it locked. A link is left alone."""
    with contextlib.suppress(OSError), _opened(place, os.O_NOFOLLOW | os.O_NONBLOCK) as handle:
        if try_lock(handle, exclusive=True):
            _delete(place)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file atomically."""
    with json_draft(path, content):
        pass


@contextlib.contextmanager
def json_draft(path: Path, content: Mapping[str, Any]) -> Iterator[None]:
    """Write a JSON file that is complete on the disk while the body runs, and in its place if the body succeeds."""
    with atomic_write(path) as stream:
        stream.write((json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
        stream.flush()
        yield


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk. Without this, a power failure may undo a rename."""
    with _opened(folder) as handle:
        os.fsync(handle)


class BusyError(UsageError):
    """Another process is at work on the same thing. It may be done later, or then be done already."""


def try_lock(handle: int, *, exclusive: bool) -> bool:
    """Lock an open file or folder until its handle is closed. Returns False if another process has locked it."""
    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def locked(folder: Path, busy: Exception, *, timeout: float = 0.0) -> Iterator[int]:
    """Hold an exclusive lock on a folder while the body runs. Creates the folder if it doesn't exist.

    Yields the handle that holds the lock. The lock is released when the process ends, for whatever reason, and all
    child processes that inherited the handle have ended, too. If the folder was created here and is empty in the end,
    it is removed.

    Args:
        busy: The exception to raise if another process holds the lock.
        timeout: How many seconds to wait for the lock before raising it.
    """
    is_new = not folder.exists()
    if not is_new and not folder.is_dir():
        raise UsageError(f"{folder}: must be a folder (got a file). Choose another.")
    handle = _locked_handle(folder, busy, time.monotonic() + timeout)
    try:
        yield handle
    finally:
        if is_new:
            with contextlib.suppress(OSError):  # it is not empty
                folder.rmdir()
        os.close(handle)


def _locked_handle(folder: Path, busy: Exception, deadline: float) -> int:
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # removed by the process that held the lock
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            if try_lock(handle, exclusive=True) and _is_at(handle, folder):
                return handle
            os.close(handle)
        if time.monotonic() >= deadline:
            raise busy
        time.sleep(0.1)


def _is_at(handle: int, path: Path) -> bool:
    """Whether an open file or folder is still at its path."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def _draft(path: Path, create: Callable[[Path], int], *, shown: Path | None = None) -> Iterator[tuple[Path, int]]:
    """Create a draft of a path, and yield it with the handle that locks it. Deletes it at the end if it is still there.

    An error about the disk becomes a StoreError about the path.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep_drafts(path)
        draft, handle = _locked_draft(path, create)
        try:
            yield draft, handle
        finally:
            _delete(draft)
            os.close(handle)
    except Exception as error:
        found = disk_error(error, shown or path)
        if found is None or DRAFT in str(path.parent):  # whoever made the outer draft knows the final path
            raise
        raise found from error


def _locked_draft(path: Path, create: Callable[[Path], int]) -> tuple[Path, int]:
    while True:
        draft = path.with_name(f".{path.name[:_NAME_PART]}{DRAFT}{secrets.token_hex(8)}")
        handle = create(draft)
        with contextlib.suppress(OSError):  # a file system without locks: then nobody sweeps, either
            fcntl.flock(handle, fcntl.LOCK_EX)
        if _is_at(handle, draft):
            return draft, handle
        os.close(handle)  # another writer took it for stale before it was locked


def _new_file(draft: Path) -> int:
    return os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)


def _new_folder(draft: Path) -> int:
    draft.mkdir()
    return os.open(draft, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _drafts(path: Path) -> re.Pattern[str]:
    return re.compile(rf"\.{re.escape(path.name[:_NAME_PART])}{re.escape(DRAFT)}[0-9a-f]{{16}}")


def _keep_permissions(path: Path, handle: int) -> None:
    """Give a draft the owner, as far as that is allowed, and the mode of the file that it replaces."""
    with contextlib.suppress(FileNotFoundError):
        old = os.lstat(path)
        if stat.S_ISREG(old.st_mode):
            with contextlib.suppress(PermissionError):
                os.fchown(handle, old.st_uid, old.st_gid)
            os.fchmod(handle, stat.S_IMODE(old.st_mode) & 0o777)


def _delete(place: Path) -> None:
    """Delete a file or a folder, as far as possible."""
    with contextlib.suppress(OSError):
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()


@contextlib.contextmanager
def _opened(path: Path, flags: int = 0) -> Iterator[int]:
    handle = os.open(path, os.O_RDONLY | flags)
    try:
        yield handle
    finally:
        os.close(handle)
