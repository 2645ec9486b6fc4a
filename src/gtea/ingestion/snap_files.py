"""The temporal files of SNAP: ``source target seconds`` in each line, without a header.

Fields are separated by runs of blanks and tabs, and lines that start with # are comments. DuckDB's CSV reader has one
delimiter, so it only splits the file into lines, and a regular expression splits the lines. That takes about 1.4 times
the processor time of a CSV file with the same events; splitting into lists takes 1.6 to 2.7 times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gtea.errors import DataError
from gtea.ingestion.record_count import RecordCounter
from gtea.ingestion.table_files import Record, is_broken, is_long, long_lines_refused, open_text

WHOLE_LINES = "delim = '\n', quote = '', escape = '', strict_mode = false, new_line = '\\n'"
"""The dialect with which DuckDB reads lines. A line break can't occur in a line, so nothing else is split or lost.

In strict mode a file with several kinds of line breaks would be refused. Without ``new_line``, DuckDB goes by the first
line break: after CR LF, it would lose the character that follows a single CR.
"""

_FIELDS = r"^[ \t]*([^ \t]+)[ \t]+([^ \t]+)[ \t]+([^ \t]+)[ \t]*$"


@dataclass(frozen=True)
class SnapLayout:
    """How to split a SNAP file into records. All SNAP files have the same columns."""

    columns: tuple[str, str, str] = ("source", "target", "timestamp")
    header_lines: int = 0
    header_records: int = 0

    def counter(self) -> RecordCounter:
        """A counter of lines that are neither blank nor comments."""
        return RecordCounter(None)

    def records(self, path: Path) -> Iterator[Record]:
        """Every line that is neither blank nor a comment. One with too few fields is well-formed, too."""
        with open_text(path) as stream:
            for number, line in enumerate(long_lines_refused(stream, path.name), start=1):
                text = line.rstrip("\r\n")
                if not text.strip(" \t") or text.startswith("#"):
                    continue
                fault = "long_line" if is_long(text) else "broken_line" if is_broken(text) else ""
                yield Record(number, [text], fault, text if fault else "")


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
    """SQL that splits the lines in column c0 of relation ``lines`` into c0, c1 and c2.

    A line without exactly three fields becomes c0 as a whole, and c1 and c2 are NULL, so that it can be reported.
    """
    return f"""(
        SELECT CASE WHEN field.c2 = '' THEN line ELSE field.c0 END AS c0,
               nullif(field.c1, '') AS c1, nullif(field.c2, '') AS c2
        FROM (SELECT c0 AS line, regexp_extract(c0, '{_FIELDS}', ['c0', 'c1', 'c2']) AS field FROM {lines}
              WHERE NOT starts_with(c0, '#') AND regexp_matches(c0, '[^ \\t]')))"""
