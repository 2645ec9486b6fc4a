"""Folders of files in memory: what mutators change, and what a target finds on disk."""

from __future__ import annotations

import enum
import os
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
    """All files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def write_folder(files: Files, folder: Path) -> None:
    """Make a folder that holds the files."""
    for name, content in files.items():
        path = folder / name
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
