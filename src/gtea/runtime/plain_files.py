"""Read files of a folder that may come from anybody: regular files of that folder only, never through a link.

A link can lead to a file of somebody else, and a pipe or a device can block for ever.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class NotPlainError(OSError):
    """The name leads to a link, a folder, a pipe or a device."""


class PlainFile(NamedTuple):
    """An open regular file."""

    number: int
    """The file descriptor."""
    size: int


@contextlib.contextmanager
def open_plain(folder: Path, name: str, *, through_link: bool = False) -> Iterator[PlainFile]:
    """Open a regular file for reading. The name is one of the caller's own, without a path.

    Args:
        through_link: Whether the folder itself may be a link: one that a user names may.

    Raises:
        NotPlainError: It is something else, or the folder is a link.
    """
    follow = 0 if through_link else os.O_NOFOLLOW
    try:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | follow)
        try:
            # A pipe without a writer blocks unless it is opened with O_NONBLOCK.
            number = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
        finally:
            os.close(place)
    except OSError as error:
        error.filename = str(folder / name)
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO):
            raise NotPlainError(error.errno, "is not a regular file", error.filename) from error
        raise
    try:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode):
            raise NotPlainError(errno.EINVAL, "is not a regular file", str(folder / name))
        yield PlainFile(number, found.st_size)
    finally:
        os.close(number)


def read_plain(folder: Path, name: str, most: int, *, through_link: bool = False) -> bytes:
    """Read a regular file of a folder as a whole; see ``open_plain``.

    Raises:
        OSError: It can't be read, or has more than ``most`` bytes. A huge file without content costs nobody anything.
    """
    with open_plain(folder, name, through_link=through_link) as file, os.fdopen(os.dup(file.number), "rb") as stream:
        if file.size > most:
            raise OSError(errno.EFBIG, f"has more than {most:,} bytes", str(folder / name))
        # Not ``read(most)``, which would take that much memory for any file.
        return stream.read(file.size)
