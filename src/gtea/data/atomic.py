"""Files that appear whole or not at all, and are still there after a power cut."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
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


def replace_json(path: Path, content: dict[str, Any]) -> None:
    """Put a JSON file in place in one step."""
    with replacing(path) as stream:
        stream.write((json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def sync_folder(folder: Path) -> None:
    """Bring a folder's own entries to disk: without it a rename may be lost by a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
