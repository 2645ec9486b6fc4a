"""Folders of files in memory: what mutators change, and what a target finds on disk."""

from __future__ import annotations

import enum
import os
import shutil
from pathlib import Path


class Special(enum.Enum):
    """What may stand in the place of a file."""

    LINK = "a link to a file outside of the folder"
    FOLDER = "an empty folder"
    PIPE = "a named pipe, from which a careless reader never returns"


Content = bytes | Special
Files = dict[str, Content]
"""The content of each file of a folder, by its path in the folder."""

_LINKED = "/etc/hostname"


def read_folder(folder: Path) -> Files:
    """All files below a folder, and what stands in the place of files."""
    return {
        str(path.relative_to(folder)): _read(path)
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or not path.is_dir() or not any(path.iterdir())
    }


def write_folder(files: Files, folder: Path) -> None:
    """Make a folder that holds the files."""
    for name, content in files.items():
        _write(folder / name, content)


class Scratch:
    """A folder on disk that holds one input after the other. Only what differs is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: Files = {}

    def hold(self, files: Files) -> None:
        """Make the folder hold these files, and nothing else of earlier inputs."""
        for name, content in self._files.items():
            if files.get(name) is not content:
                _remove(self.folder / name)
        for name, content in files.items():
            if self._files.get(name) is not content:
                _write(self.folder / name, content)
        self._files = dict(files)

    def clear(self) -> None:
        """Forget the input. A target may have changed it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._files = {}


def _read(path: Path) -> Content:
    if path.is_symlink():
        return Special.LINK
    if path.is_fifo():
        return Special.PIPE
    return Special.FOLDER if path.is_dir() else path.read_bytes()


def _write(path: Path, content: Content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    match content:
        case Special.LINK:
            path.symlink_to(_LINKED)
        case Special.FOLDER:
            path.mkdir()
        case Special.PIPE:
            os.mkfifo(path)
        case bytes():
            path.write_bytes(content)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink()
