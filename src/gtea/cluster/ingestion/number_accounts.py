"""The tasks ``number``, ``words`` and ``keys``: numbers for all account ids and words, from those of each file.

Ids are numbered in ranges of the canonical order. A range reads of every file the blocks of ids that are in it; where
blocks begin is among the facts of the files, and shows where ranges of about equal size are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gtea.cluster.ingestion.ingest_job import events_of, open_ingest
from gtea.cluster.part_files import PartFile
from gtea.cluster.tasks import Made, made_by
from gtea.errors import DataError
from gtea.runtime.json_shape import Natural
from gtea.store.layout import MAX_NODES, vocabulary_name
from gtea.store.strings import StringTable, table_from

_IDS = "ids"


def number(folder: Path, arguments: dict[str, Any]) -> Made:
    """All ids of a range, and for each file the places of its ids among them."""
    files = [_StringBlocks(events_of(folder, file), _IDS) for file in range(len(open_ingest(folder).paths))]
    fences = sorted((fence for file in files for fence in file.fences), key=_rank)
    ranges, own = arguments["ranges"], arguments["range"]
    low, high = (fences[len(fences) * end // ranges] if 0 < end < ranges and fences else None for end in (own, own + 1))
    return _numbered([list(file.between(low, high)) for file in files])


def words(folder: Path, arguments: dict[str, Any]) -> Made:
    """All words of a categorical column, and for each file the codes of its words."""
    name = vocabulary_name(arguments["column"])
    files = [_StringBlocks(events_of(folder, file), name) for file in range(len(open_ingest(folder).paths))]
    return _numbered([list(file.between(None, None)) for file in files])


def keys(folder: Path, arguments: dict[str, Any]) -> Made:
    """The numbers of a file's accounts, and the pairs that show where parts should begin."""
    ranges = [made_by(folder, name) for name in arguments["numbers"]]
    counts = [each.fact("count", Natural) for each in ranges]
    if sum(counts) > MAX_NODES:
        raise DataError(f"accounts: a store holds at most {MAX_NODES:,} (got {sum(counts):,}). Split the data.")
    before = np.cumsum([0, *counts])
    places = [each.read(f"places.{arguments['file']}") + start for each, start in zip(ranges, before, strict=False)]
    found = np.concatenate(places).astype(np.int32)
    return {"keys": found, "sample": found[events_of(folder, arguments["file"]).read("sample")]}, {}


class _StringBlocks:
    """The strings of a file, in order, in blocks."""

    def __init__(self, file: PartFile, name: str) -> None:
        self._file, self._name = file, name
        self.fences: list[str] = file.fact(f"{name}_fences", [str])
        """The first string of each block."""

    def between(self, low: str | None, high: str | None) -> Iterator[pa.LargeStringArray]:
        """The strings from one up to another; None for no bound."""
        for block, (first, after) in enumerate(itertools.zip_longest(self.fences, self.fences[1:])):
            starts_late = high is not None and _rank(first) >= _rank(high)
            ends_early = low is not None and after is not None and _rank(after) <= _rank(low)
            if not starts_late and not ends_early:
                ends = self._file.read(f"{self._name}_ends.{block}")
                offsets = np.concatenate([np.zeros(1, np.int64), ends])
                table = StringTable(offsets, self._file.read(f"{self._name}_bytes.{block}"))
                start = 0 if low is None else table.place_of(low.encode())
                stop = len(table) if high is None else table.place_of(high.encode())
                yield table.to_arrow().slice(start, stop - start)


def _rank(text: str) -> tuple[int, bytes]:
    """The sort key of a string in the canonical order."""
    content = text.encode()
    return len(content), content


def _numbered(files: Sequence[Sequence[pa.LargeStringArray]]) -> Made:
    """The strings of all files, each once and in order, and the places of those of each file."""
    strings = [each for file in files for each in file]
    table = table_from([pa.array([], pa.large_string()), *strings])
    places = table.find_many(pa.chunked_array(strings, pa.large_string()))  # at once: a search hashes the whole table
    ends = np.cumsum([sum(map(len, file)) for file in files])
    of_files = {f"places.{number}": own for number, own in enumerate(np.split(places, ends[:-1]))}
    return {"ends": table.offsets[1:], "bytes": table.data, **of_files}, {"count": len(table)}
