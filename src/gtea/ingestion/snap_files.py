"""The temporal files of SNAP: ``source target seconds`` in each line, without a header.

Fields are separated by runs of blanks and tabs, and lines that start with # are comments. DuckDB's CSV reader has one
delimiter, so it only splits the file into lines, and a regular expression splits the lines. That takes about 1.4 times
the processor time of a CSV file with the same events; splitting into lists takes 1.6 to 2.7 times.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gtea.errors import DataError
from gtea.ingestion.table_files import is_broken, open_text

WHOLE_LINES = "delim = '\n', quote = '', escape = '', strict_mode = false, new_line = '\\n'"
"""The dialect with which DuckDB reads lines. A line break can't occur in a line, so nothing else is split or lost.

In strict mode a file with several kinds of line breaks would be refused. Without ``new_line``, DuckDB goes by the first
line break: after CR LF, it would lose the character that follows a single CR.
"""

_FIELDS = r"^[ \t]*([^ \t]+)[ \t]+([^ \t]+)[ \t]+([^ \t]+)[ \t]*$"

# DuckDB rejects longer lines.
_LONGEST_LINE = 2_000_000


@dataclass(frozen=True)
class SnapLayout:
    """How to split a SNAP file into records. All SNAP files have the same columns."""

    columns: tuple[str, str, str] = ("source", "target", "timestamp")
    header_lines: int = 0

    def records(self, stream: io.TextIOWrapper) -> Iterator[tuple[int, bool]]:
        """The line of each record, and whether DuckDB accepts it. Lines with too few fields are accepted, too."""
        for number, line in enumerate(stream, start=1):
            text = line.rstrip("\r\n")
            if is_broken(text) or len(text.encode(errors="surrogateescape")) > _LONGEST_LINE:
                yield number, False
            elif text.strip(" \t") and not text.startswith("#"):
                yield number, True


def read_snap_layout(path: Path) -> SnapLayout:
    """The layout of a SNAP file. Refuses a file that is empty or can't be unpacked."""
    try:
        with open_text(path) as stream:
            empty = not stream.read(1)
    except (OSError, EOFError) as error:
        raise DataError(f"{path.name}: can't be read as text ({error}). Check that the file is complete.") from error
    if empty:
        raise DataError(
            f"{path.name}: a SNAP file must have lines of source, target, seconds (got an empty file). "
            "Check the download."
        )
    return SnapLayout()


def split_lines(lines: str) -> str:
    """SQL that splits the column ``line`` of relation ``lines`` into c0, c1 and c2.

    A line without exactly three fields becomes c0 as a whole, and c1 and c2 are NULL, so that it can be reported.
    """
    return f"""(
        SELECT CASE WHEN field.c2 = '' THEN line ELSE field.c0 END AS c0,
               nullif(field.c1, '') AS c1, nullif(field.c2, '') AS c2
        FROM (SELECT line, regexp_extract(line, '{_FIELDS}', ['c0', 'c1', 'c2']) AS field FROM {lines}
              WHERE NOT starts_with(line, '#') AND regexp_matches(line, '[^ \\t]')))"""
