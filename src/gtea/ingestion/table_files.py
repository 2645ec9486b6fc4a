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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from gtea.errors import DataError, UsageError
from gtea.store.schema import Format

if TYPE_CHECKING:
    from _csv import Reader  # the type of csv.reader has no public name

_DELIMITERS = (",", "\t", ";", "|")

# csv.reader's own limit of 128 KiB would stop at a long field that DuckDB (2 MiB a line) accepts.
_FIELD_LIMIT = 4 << 20

_SUFFIXES: dict[str, Literal["csv", "tsv", "parquet"]] = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}


class RecordLayout(Protocol):
    """How to split a text file into records."""

    @property
    def header_lines(self) -> int:
        """Number of lines before the first record."""

    def records(self, stream: io.TextIOWrapper) -> Iterator[tuple[int, bool]]:
        """The line on which each record starts, and whether DuckDB accepts the record."""


@dataclass(frozen=True)
class CsvLayout:
    """How to split a CSV file into records and columns."""

    delimiter: str
    columns: tuple[str, ...]
    header_lines: int

    def records(self, stream: io.TextIOWrapper) -> Iterator[tuple[int, bool]]:
        """The line on which each record starts, and whether DuckDB accepts the record."""
        reader = _reader(stream, self.delimiter)
        line = 1
        for record in reader:
            start, line = line, reader.line_num + 1
            if start > self.header_lines and record:
                yield start, len(record) == len(self.columns) and not any(is_broken(field) for field in record)


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
    with open_text(path) as stream:
        for line, well_formed in layout.records(stream):
            if len(found.accepted) == len(accepted) and len(found.rejected) >= num_rejected:
                break
            if not well_formed:
                found.rejected.append(line)
                continue
            if len(found.accepted) < len(accepted) and number == accepted[len(found.accepted)]:
                found.accepted.append(line)
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


def _reader(stream: io.TextIOWrapper, delimiter: str) -> Reader:
    csv.field_size_limit(_FIELD_LIMIT)
    return csv.reader(stream, delimiter=delimiter)


def is_broken(text: str) -> bool:
    """Whether the text has bytes that are not UTF-8 (surrogateescape preserves them)."""
    return not text.isascii() and any("\udc80" <= character <= "\udcff" for character in text)


def find_files(patterns: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Expand file names and globs, in the order given. The matches of a glob are sorted by name."""
    files: list[Path] = []
    for given in patterns:
        pattern = os.fspath(given)
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
