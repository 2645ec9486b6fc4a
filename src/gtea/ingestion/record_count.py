"""Count the records of a text file from its bytes, independently of the reader that splits them into columns.

DuckDB may leave out a line without a word: one of 32 MiB, or those after a quote in a wrong place. So what it returned
can't show that every line was read. This count can: a record starts at each byte that follows a line break outside
quotes and is not a line break itself. NumPy finds these bytes in 0.15 s per 100 MB, in the thread that hashes the
file anyway, so an ingest takes as long as before. A parser written in Python would take as long as the ingest itself;
it is used only if the counts differ (``table_files``).
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

_LF, _CR, _QUOTE, _COMMENT = b'\n\r"#'
_BOM = b"\xef\xbb\xbf"
_BLANKS = re.compile(rb"[ \t]*")


class RecordCounter:
    """Counts records block by block. Blank lines are not records."""

    def __init__(self, delimiter: str | None) -> None:
        """Start a count.

        Args:
            delimiter: Of a CSV file, in which quotes may hide line breaks. None for a SNAP file: it has no quotes, and
                lines of blanks or that start with # are not records either.
        """
        self.records = 0
        self.exact = True
        """False if quotes are not where they belong. The file may then be split into records in several ways."""
        self._delimiter = delimiter
        self._edges = np.isin(np.arange(256), [_LF, _CR, _QUOTE, *(delimiter or "").encode()])
        self._last = _LF
        self._after_break = True
        self._inside = False

    def add(self, block: bytes, *, first: bool = False) -> None:
        """Count the records that start in the next block of the file."""
        block = block.removeprefix(_BOM) if first else block
        if not block:
            return
        data = np.frombuffer(block, np.uint8)
        breaks = data == _LF
        if b"\r" in block:
            breaks |= data == _CR
        if self._delimiter and (self._inside or b'"' in block or self._last == _QUOTE):
            breaks &= ~self._quoted(data)
        if self._delimiter:
            starts = int(np.count_nonzero(breaks[:-1] > breaks[1:]))
            self.records += starts + (self._after_break and not breaks[0])
        else:
            self._count_lines(block, data, breaks)
        self._after_break = bool(breaks[-1])
        self._last = int(data[-1])

    def finish(self) -> None:
        """Note the end of the file: a quote that is still open hides records."""
        self.exact &= not self._inside

    def _quoted(self, data: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which bytes are inside quotes. Checks that quotes open after and close before the edge of a field.

        A doubled quote counts as one that closes and one that opens, next to each other.
        """
        is_quote = data == _QUOTE
        inside = (np.cumsum(is_quote, dtype=np.uint8) & 1).astype(bool) ^ self._inside
        quotes = np.flatnonzero(is_quote)
        opens = inside[quotes]
        before = np.where(quotes > 0, data[quotes - 1], self._last)
        closed = quotes[~opens] + 1
        after = data[closed[closed < len(data)]]
        if self._last == _QUOTE and not self._inside:
            after = np.append(after, data[0])
        self.exact &= bool(self._edges[before[opens]].all() and self._edges[after].all())
        self._inside = bool(inside[-1])
        return inside

    def _count_lines(self, block: bytes, data: NDArray[np.uint8], breaks: NDArray[np.bool_]) -> None:
        starts = np.flatnonzero(breaks[:-1] > breaks[1:]) + 1
        if self._after_break and not breaks[0]:
            starts = np.append(starts, 0)
        firsts = data[starts]
        self.records += int(np.count_nonzero(firsts != _COMMENT))
        for start in starts[(firsts == ord(" ")) | (firsts == ord("\t"))]:
            found = _BLANKS.match(block, int(start))
            end = found.end() if found else len(block)
            self.exact &= end < len(block)  # the line goes on in the next block
            self.records -= end < len(block) and bool(breaks[end])
