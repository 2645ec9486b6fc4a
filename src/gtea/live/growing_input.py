"""Lines from a pipe, or from a file that others append to.

A block is read when the lines before it have been handled: whoever writes to the pipe has to wait until then.
"""

from __future__ import annotations

import hashlib
import os
import select
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gtea.errors import DataError
from gtea.runtime.json_shape import Natural, misshapen

_BLOCK = 1 << 16
_LONGEST = 1 << 20
"""A line of more bytes is no event; it is handed over in pieces, each of which is reported."""
_WAIT = 0.1
_POSITION = {"offset": Natural, "lines": Natural, "sha256": str}


class GrowingInput:
    """An open pipe or file."""

    def __init__(self, source: int | Path, *, once: bool = False) -> None:
        """Open the input.

        Args:
            source: A file descriptor, or a path.
            once: Whether to stop at the end of a file instead of waiting for more.
        """
        self._owned = not isinstance(source, int)
        self._name = "standard input" if isinstance(source, int) else source.name
        try:
            self._handle = source if isinstance(source, int) else os.open(source, os.O_RDONLY)
        except OSError as error:
            raise DataError(
                f"{source}: can't be read ({error.strerror}). Name a file, or - for standard input."
            ) from error
        self.is_file = stat.S_ISREG(os.fstat(self._handle).st_mode)
        self._follows = self.is_file and not once
        self._rest, self._ended = b"", False
        self._offset, self.num_lines, self._digest = 0, 0, hashlib.sha256()

    def close(self) -> None:
        """Close a file that was opened here."""
        if self._owned:
            os.close(self._handle)

    @property
    def position(self) -> dict[str, Any]:
        """How much was handed over, with a digest of it."""
        return {"offset": self._offset, "lines": self.num_lines, "sha256": self._digest.hexdigest()}

    def skip_to(self, position: Mapping[str, Any]) -> bool:
        """Go on behind a position of an earlier run. False if the file does not begin with what was read then."""
        if not self.is_file or misshapen(dict(position), _POSITION, "position") is not None:
            return False
        offset, digest = int(position["offset"]), hashlib.sha256()
        if offset > os.fstat(self._handle).st_size:
            return False
        for block in self._blocks(offset):
            digest.update(block)
        if digest.hexdigest() != position["sha256"]:
            os.lseek(self._handle, 0, os.SEEK_SET)
            return False
        self._offset, self.num_lines, self._digest = offset, int(position["lines"]), digest
        return True

    def skip_to_end(self) -> None:
        """Pass over the lines that a file has already."""
        if self.is_file:
            end = os.fstat(self._handle).st_size
            for block in self._blocks(end):
                self._hand_over(block)

    def first_line(self) -> bytes:
        """The first line of a file, which may be a header, without moving."""
        return os.pread(self._handle, _LONGEST, 0).partition(b"\n")[0] if self.is_file else b""

    def batches(self, most: int, stopped: Callable[[], bool]) -> Iterator[list[tuple[int, bytes]]]:
        """Numbered lines as they come: as many as there are, at most ``most`` at a time. Empty while there are none."""
        while not stopped():
            lines = self._take(most)
            yield lines
            if lines:
                continue
            if self._ended:
                return
            self._read()

    def _take(self, most: int) -> list[tuple[int, bytes]]:
        """Complete lines that were read; the last one may lack its end if the input has ended."""
        found = list[tuple[int, bytes]]()
        while len(found) < most:
            line, end, rest = self._rest.partition(b"\n")
            if not end and not (line and self._ended) and len(line) <= _LONGEST:
                break
            self._rest = rest
            self._hand_over(line + end)
            self.num_lines += not end  # a last line without an end, and pieces of one that is too long
            found.append((self.num_lines, line))
        return found

    def _hand_over(self, content: bytes) -> None:
        self._offset += len(content)
        self.num_lines += content.count(b"\n")
        self._digest.update(content)

    def _read(self) -> None:
        """Read a block, or wait a little for one."""
        if self._follows and os.fstat(self._handle).st_size < self._offset + len(self._rest):
            raise DataError(f"{self._name}: must only grow (it has become shorter). Start again with --replay.")
        if not self.is_file and not select.select([self._handle], [], [], _WAIT)[0]:
            return
        block = os.read(self._handle, _BLOCK)
        self._rest += block
        if not block:
            if self._follows:
                time.sleep(_WAIT)
            else:
                self._ended = True

    def _blocks(self, length: int) -> Iterator[bytes]:
        while length > 0 and (block := os.read(self._handle, min(length, _BLOCK))):
            length -= len(block)
            yield block
