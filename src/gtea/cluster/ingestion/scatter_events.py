"""The tasks ``cut`` and ``scatter``: where parts begin, and a file's events to the parts that they belong to.

Parts are ranges of pairs, not of accounts: a hub with most of the events is cut between two of its partners.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.cluster.ingestion.ingest_job import CUT, IngestJob, events_of, open_ingest
from gtea.cluster.packed_rows import RowFile, Rows, packed_rows_of
from gtea.cluster.tasks import Made, made_by

_BITS_OF_ROWS = 40
"""Rows of a file; the bits above are for the number of the file, so that ties keep the order of the input."""


def cut(folder: Path, arguments: dict[str, Any]) -> Made:
    """The pairs with which parts begin, so that all have about as many events."""
    samples = [made_by(folder, name).read("sample") for name in arguments["keys"]]
    pairs = np.sort(np.concatenate([_pairs(each[:, 0], each[:, 1]) for each in samples]))
    parts = arguments["parts"]
    return {"first_pairs": np.unique(pairs[np.arange(1, parts) * len(pairs) // parts]) if len(pairs) else pairs}, {}


@contextmanager
def scatter(folder: Path, arguments: dict[str, Any]) -> Iterator[Made]:
    """The events of a file with the numbers of all files, in an array for each part."""
    job, number = open_ingest(folder), arguments["file"]
    first_pairs = made_by(folder, CUT).read("first_pairs")
    with job.scratch(f"scatter.{number}") as scratch:
        with RowFile(scratch / "rows", job.record, arguments["parts"]) as file:
            for rows in numbered_rows(job, number):
                file.add(rows, np.searchsorted(first_pairs, _pairs(rows["lo"], rows["hi"]), side="right"))
        yield {f"rows.{part}": file.group(part) for part in range(arguments["parts"])}, {}


def numbered_rows(job: IngestJob, number: int) -> Iterator[Rows]:
    """The events of a file, some at a time, with the numbers of accounts and words that all files have."""
    keys = made_by(job.folder, f"keys.{number}").read("keys")
    names = job.shape.categorical
    codes = [made_by(job.folder, f"words.{column}").read(f"places.{number}") for column in range(len(names))]
    for given in packed_rows_of(events_of(job.folder, number), "rows", job.record):
        rows = given.copy()
        rows["lo"], rows["hi"] = keys[given["lo"]], keys[given["hi"]]
        rows["r"] += number << _BITS_OF_ROWS
        for name, places in zip(names, codes, strict=True):
            rows[name] = places[given[name]]
        yield rows


def _pairs(low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.int64]:
    """Pairs of accounts as one number each, in their order."""
    return low.astype(np.int64) << 32 | high
