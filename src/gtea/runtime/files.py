"""Atomic writes that survive a power cut, and locks that end with their process. POSIX only."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """A stream whose content takes the file's place in one step when the body is done.

    Until then, and if the body fails, whatever was there stays.
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
    """Where a file's new content is written: all that a kill can leave behind."""
    return path.with_name(f".{path.name}.new")


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Put a JSON file in place in one step."""
    with atomic_write(path) as stream:
        stream.write((json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def sync_folder(folder: Path) -> None:
    """Bring a folder's own entries to disk: without it a rename may be lost by a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def try_lock(handle: int, *, exclusive: bool) -> bool:
    """Lock an open folder until it is closed; False if somebody else's lock is in the way."""
    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def locked(folder: Path, busy: Exception, *, patience: float = 0.0) -> Iterator[int]:
    """Keep other processes out of a folder, made if there is none, while the body runs.

    Yields the handle that holds the lock. The lock ends with the process, however that ends, and with the helper
    processes that inherited the handle.

    Args:
        busy: What to raise if another process has the lock.
        patience: How many seconds to wait for it first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        deadline = time.monotonic() + patience
        while not try_lock(handle, exclusive=True):
            if time.monotonic() >= deadline:
                raise busy
            time.sleep(0.1)
        yield handle
    finally:
        os.close(handle)
