"""Where parts begin, and which events go where."""

from __future__ import annotations

import itertools

import numpy as np
from tests.cluster.ingestion.conftest import StoppedJob

from gtea.cluster.ingestion.ingest_job import open_ingest
from gtea.cluster.packed_rows import packed_rows_of
from gtea.cluster.tasks import made_by


def test_every_event_goes_to_one_part_and_no_pair_to_two(stopped: StoppedJob) -> None:
    job, pairs, places = open_ingest(stopped.folder), list[set[tuple[int, int]]](), list[int]()
    for part in range(3):
        files = [made_by(stopped.folder, f"scatter.{number}") for number in range(3)]
        found = [each for file in files for each in packed_rows_of(file, f"rows.{part}", job.record)]
        rows = np.concatenate([np.empty(0, job.record), *found])
        pairs.append(set(zip(rows["lo"].tolist(), rows["hi"].tolist(), strict=True)))
        places += rows["r"].tolist()
    assert len(places) == len(set(places)) == stopped.at_once.num_events
    filled = [each for each in pairs if each]
    assert all(max(before) < min(after) for before, after in itertools.pairwise(filled))
    assert sum(map(len, pairs)) == stopped.at_once.manifest.counts["edges"]


def test_the_place_in_the_input_comes_first_by_file(stopped: StoppedJob) -> None:
    job = open_ingest(stopped.folder)
    for number in range(3):
        file = made_by(stopped.folder, f"scatter.{number}")
        for part in range(3):
            for rows in packed_rows_of(file, f"rows.{part}", job.record):
                assert (rows["r"] >> 40 == number).all()
