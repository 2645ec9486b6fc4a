"""A file that is read alone: its own numbers compare as those of the whole will."""

from __future__ import annotations

import csv

import numpy as np
from tests.cluster.ingestion.conftest import StoppedJob

from gtea.cluster.ingestion.ingest_job import events_of, open_ingest
from gtea.cluster.packed_rows import packed_rows_of
from gtea.cluster.tasks import made_by


def strings_of(stopped: StoppedJob, number: int, name: str) -> list[str]:
    """All strings of a file, block by block."""
    file, found = events_of(stopped.folder, number), list[str]()
    for block, first in enumerate(file.fact(f"{name}_fences", [str])):
        ends = file.read(f"{name}_ends.{block}").tolist()
        content = file.read(f"{name}_bytes.{block}").tobytes()
        strings = [content[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)]
        assert strings[0] == first
        assert len(strings) <= 3
        found += strings
    return found


def test_ids_and_words_are_in_order_and_events_point_at_them(stopped: StoppedJob) -> None:
    with stopped.paths[1].open(newline="") as stream:
        given = list(csv.DictReader(stream))
    ids, words = strings_of(stopped, 1, "ids"), strings_of(stopped, 1, "vocabulary_0")
    assert ids == sorted({row[end] for row in given for end in ("src", "dst")}, key=lambda text: (len(text), text))
    assert words == ["x", "y", "z"]
    job = open_ingest(stopped.folder)
    rows = np.concatenate(list(packed_rows_of(events_of(stopped.folder, 1), "rows", job.record)))
    found = []
    for row in np.sort(rows, order="r"):
        low, high = ids[row["lo"]], ids[row["hi"]]
        ends = (high, low) if row["reverse"] else (low, high)
        found.append((*ends, str(row["t"]), str(int(row["f0"])), words[row["c0"]]))
    assert found == [tuple(row.values()) for row in given if row["src"] != row["dst"]]


def test_every_row_is_counted(stopped: StoppedJob) -> None:
    checked = made_by(stopped.folder, "check")
    report = stopped.at_once.report
    assert checked.facts["rows_in"] == report["rows_in"]
    assert checked.facts["self_loops"] == report["self_loops"]
    assert checked.facts["sources"] == stopped.at_once.manifest.sources
