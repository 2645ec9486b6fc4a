"""Atomic writes that survive a power failure, and locks that are released when their process ends. POSIX only."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream whose content replaces the file in one step when the body finishes.

    If the body fails, the old file is left unchanged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = draft_of(path)
    try:
        with draft.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def draft_of(path: Path) -> Path:
    """The temporary path to which a file's new content is written. A killed process can leave only this file behind."""
    return path.with_name(f".{path.name}.new")


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file atomically."""
    with atomic_write(path) as stream:
        stream.write((json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk. Without this, a power failure may undo a rename."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def try_lock(handle: int, *, exclusive: bool) -> bool:
    """Lock an open folder until its handle is closed. Returns False if another process holds a conflicting lock."""
    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def locked(folder: Path, busy: Exception, *, timeout: float = 0.0) -> Iterator[int]:
    """Hold an exclusive lock on a folder while the body runs. Creates the folder if it doesn't exist.

    Yields the handle that holds the lock. The lock is released when the process ends, for whatever reason, and all
    child processes that inherited the handle have ended, too.

    Args:
        busy: The exception to raise if another process holds the lock.
        timeout: How many seconds to wait for the lock before raising it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        deadline = time.monotonic() + timeout
        while not try_lock(handle, exclusive=True):
            if time.monotonic() >= deadline:
                raise busy
            time.sleep(0.1)
        yield handle
    finally:
        os.close(handle)
