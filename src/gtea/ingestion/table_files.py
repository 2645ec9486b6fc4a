"""Input files: find them, detect their format, read CSV headers, and locate records by line.

DuckDB reads the rows of a CSV file. It is given the layout instead of detecting it, because detection could give
another result on the next delivery. The delimiter is the one with which the header has the requested columns.
"""

from __future__ import annotations

import csv
import difflib
import glob
import gzip
import io
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from gtea.errors import DataError, UsageError
from gtea.ingestion.database_address import refuse_address
from gtea.ingestion.record_count import RecordCounter
from gtea.store.schema import Format

if TYPE_CHECKING:
    from _csv import Reader  # the type of csv.reader has no public name

_DELIMITERS = (",", "\t", ";", "|")

LONGEST_RECORD = 2_000_000
"""In bytes. DuckDB rejects longer records."""

# Longer lines are rejected whole, but they have to be held in memory to find where they end. The parser needs about
# eight times their size.
_LONGEST_LINE = 128 << 20
_LIMIT = f"{_LONGEST_LINE >> 20} MiB"

_SUFFIXES: dict[str, Literal["csv", "tsv", "parquet"]] = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}


class Record(NamedTuple):
    """A record of a text file."""

    line: int
    """The line on which it starts."""
    fields: list[str]
    fault: str = ""
    """Why it can't be split into columns, as a reason in the data report; empty if it can."""
    text: str = ""
    """The record as it is in the file, if it has a fault."""


class RecordLayout(Protocol):
    """How to split a text file into records."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""

    @property
    def header_lines(self) -> int:
        """Number of lines before the first record."""

    @property
    def header_records(self) -> int:
        """Number of records that those lines are."""

    def counter(self) -> RecordCounter:
        """A counter of records, those of the header included."""

    def records(self, path: Path) -> Iterator[Record]:
        """Every record of the file, well-formed or not. It is slower than DuckDB, and knows what DuckDB doesn't tell.

        Raises:
            DataError: The file has a quote that is never closed, or a line that is too long to hold in memory.
        """


@dataclass(frozen=True)
class CsvLayout:
    """How to split a CSV file into records and columns."""

    delimiter: str
    columns: tuple[str, ...]
    header_lines: int
    header_records: int = 1

    def counter(self) -> RecordCounter:
        """A counter of records, those of the header included."""
        return RecordCounter(self.delimiter)

    def records(self, path: Path) -> Iterator[Record]:
        """Every record of the file, well-formed or not."""
        with open_text(path) as stream:
            seen: list[str] = []
            reader = _reader(_remembered(long_lines_refused(stream, path.name), seen), self.delimiter, strict=True)
            while True:
                start = reader.line_num + 1
                seen.clear()
                try:
                    fields = next(reader, None)
                    broken = False
                except csv.Error as error:
                    _refuse_what_hides_records(error, f"{path.name}, row {start}")
                    fields, broken = [], True
                if fields is None:
                    return
                if start > self.header_lines and (fields or broken):
                    yield self._record(start, fields, "".join(seen), broken)

    def _record(self, line: int, fields: list[str], text: str, broken: bool) -> Record:
        if is_long(text):
            return Record(line, [], "long_line", text)
        if broken or is_broken(text):
            return Record(line, [], "broken_line", text)
        if len(fields) != len(self.columns):
            return Record(line, [], "wrong_columns", text)
        return Record(line, fields)


def read_layout(path: Path, wanted: Sequence[str], delimiter: str | None = None) -> CsvLayout:
    """The layout of a file with a header. Chooses the delimiter with which most of ``wanted`` are columns."""
    candidates = (delimiter,) if delimiter else _DELIMITERS
    layouts = [_header(path, candidate) for candidate in candidates]
    return max(layouts, key=lambda layout: (sum(name in layout.columns for name in wanted), len(layout.columns)))


def first_records(path: Path, layout: CsvLayout, count: int) -> list[list[str]]:
    """The first records after the header, at most so many."""
    try:
        with open_text(path) as stream:
            reader = _reader(stream, layout.delimiter)
            records = itertools.islice(reader, 1, count + 1)
            return [record for record in records if record]
    except (OSError, EOFError, csv.Error) as error:
        raise DataError(f"{path.name}: can't be read as CSV ({error}). Check that the file is complete.") from error


def read_jodie_layout(path: Path) -> CsvLayout:
    """The layout of a JODIE file. Its header has a single name for all feature columns."""
    try:
        with open_text(path) as stream:
            reader = _reader(stream, ",")
            header = next(reader, None)
            first = next(reader, None)
    except (OSError, EOFError, csv.Error) as error:
        raise DataError(f"{path.name}: can't be read as CSV ({error}). Check that the file is complete.") from error
    if header is None or first is None or len(first) < 4 or len(header) < 4:
        raise DataError(
            f"{path.name}: a JODIE file must have a header and rows of user, item, timestamp, state label, features... "
            f"(got {first if header else 'an empty file'}). Check the file, or drop --format jodie."
        )
    features = tuple(f"f{i}" for i in range(len(first) - 4))
    return CsvLayout(",", ("user_id", "item_id", "timestamp", "state_label", *features), header_lines=1)


@dataclass(frozen=True)
class RecordLines:
    """The lines of the file on which records start."""

    accepted: list[int]
    rejected: list[int]


def lines_of_records(path: Path, layout: RecordLayout, accepted: Sequence[int], num_rejected: int) -> RecordLines:
    """Find the lines of some well-formed records, and of the first ``num_rejected`` malformed ones.

    Because of blank lines and quoted line breaks, lines and records differ, and DuckDB counts records. So the file is
    read again in Python. This only happens to report errors.

    Args:
        accepted: Ascending numbers of records, counted from 0 among those that DuckDB accepted.
    """
    found = RecordLines([], [])
    number = 0
    for record in layout.records(path):
        if len(found.accepted) == len(accepted) and len(found.rejected) >= num_rejected:
            break
        if record.fault:
            found.rejected.append(record.line)
            continue
        if len(found.accepted) < len(accepted) and number == accepted[len(found.accepted)]:
            found.accepted.append(record.line)
        number += 1
    return found


def _header(path: Path, delimiter: str) -> CsvLayout:
    try:
        with open_text(path) as stream:
            reader = _reader(stream, delimiter)
            columns = next(reader, None)
            lines = reader.line_num
    except (OSError, EOFError, csv.Error) as error:
        raise DataError(f"{path.name}: can't be read as CSV ({error}). Check that the file is complete.") from error
    if not columns:
        raise DataError(f"{path.name}: must start with a header line (got an empty file). Check the export.")
    return CsvLayout(delimiter, tuple(columns), lines)


def open_text(path: Path) -> io.TextIOWrapper:
    """Open a text file, gzipped or not. Line breaks, and bytes that are not UTF-8, are preserved."""
    raw = gzip.GzipFile(path) if path.suffix == ".gz" else path.open("rb")
    return io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")


def long_lines_refused(stream: io.TextIOWrapper, name: str) -> Iterator[str]:
    """The lines of a file, one in memory at a time. Refuses a line that is too long for that."""
    for number, line in enumerate(iter(lambda: stream.readline(_LONGEST_LINE + 1), ""), start=1):
        if len(line) > _LONGEST_LINE:
            raise DataError(f"{name}, row {number}: a line must not be longer than {_LIMIT}. Check the export.")
        yield line


def _remembered(lines: Iterator[str], seen: list[str]) -> Iterator[str]:
    for line in lines:
        seen.append(line)
        yield line


def _reader(lines: Iterable[str], delimiter: str, *, strict: bool = False) -> Reader:
    # The reader's own limit is 128 KiB.
    csv.field_size_limit(_LONGEST_LINE)
    return csv.reader(lines, delimiter=delimiter, strict=strict)


def _refuse_what_hides_records(error: csv.Error, place: str) -> None:
    """Refuse a quote that is never closed. It hides the rest of the file, so bad rows can't be counted."""
    if "unexpected end of data" in str(error):
        raise DataError(
            f"{place}: a quote is opened and never closed, so the rest of the file can't be split into rows. "
            "Close the quote, or double it if it is part of the text."
        ) from error
    if "field limit" in str(error):
        raise DataError(f"{place}: a field must not be longer than {_LIMIT}. Look for an open quote.") from error


def is_long(text: str) -> bool:
    """Whether a record, with its line break, is longer than DuckDB accepts."""
    shortest = len(text)  # in bytes; a character has up to four
    return 4 * shortest > LONGEST_RECORD and len(text.encode(errors="surrogateescape")) > LONGEST_RECORD


def is_broken(text: str) -> bool:
    """Whether the text has bytes that are not UTF-8 (surrogateescape preserves them)."""
    return not text.isascii() and any("\udc80" <= character <= "\udcff" for character in text)


def find_files(patterns: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Expand file names and globs, in the order given. The matches of a glob are sorted by name."""
    files: list[Path] = []
    for given in patterns:
        pattern = os.fspath(given)
        refuse_address(pattern)
        # A name that exists is not expanded, so that "a[1].csv" needs no escaping.
        matches = [pattern] if Path(pattern).exists() else sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 (absolute patterns, too)
        if not matches:
            raise DataError(f"{pattern}: no such file. Check the path; a glob must match at least one file.")
        files += [Path(match).resolve() for match in matches]
    for path in files:
        if path.is_dir():
            raise DataError(
                f"{path.name}: is a folder, not a file. Name the files, or a glob such as '{path.name}/*.csv'."
            )
    repeated = sorted({path.name for path in files if files.count(path) > 1})
    if repeated:
        raise UsageError(f"{repeated[0]}: is given twice. Every event in it would be counted twice; name it once.")
    return files


def file_format(path: Path, declared: Format) -> Literal["csv", "tsv", "parquet", "jodie", "snap"]:
    """The format of a file: as declared, or else by its suffix."""
    if declared != "auto":
        return declared
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    detected = _SUFFIXES.get(suffixes[-1]) if suffixes else None
    if detected is None:
        raise UsageError(
            f"{path.name}: the file format can't be detected from the name. "
            "Pass --format csv, tsv, parquet, jodie or snap, or rename it."
        )
    return detected


def require_columns(subject: str, wanted: Sequence[str], found: Sequence[str]) -> None:
    """Raise an error, with a suggestion, if a wanted column is missing."""
    for name in wanted:
        if name not in found:
            near = difflib.get_close_matches(name, found, n=1)
            remedy = f"Did you mean {near[0]!r}?" if near else f"Its columns are: {', '.join(found)}."
            raise UsageError(f"{subject}: has no column {name!r}. {remedy}")
