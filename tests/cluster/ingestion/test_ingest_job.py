"""What tasks of an ingest have in common."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.cluster.ingestion.conftest import StoppedJob

from gtea.cluster.ingestion.ingest_job import events_of, open_ingest, plan_of, times_of
from gtea.cluster.part_files import DamagedFileError, write_part_file
from gtea.cluster.tasks import made_by
from gtea.errors import DataError, UsageError


def test_a_row_has_the_columns_of_an_event(stopped: StoppedJob) -> None:
    job = open_ingest(stopped.folder)
    assert job.record.names == ("lo", "hi", "t", "r", "reverse", "f0", "c0")
    assert job.record.itemsize == 4 + 4 + 8 + 8 + 1 + 4 + 4
    assert job.paths == [path.resolve() for path in stopped.paths]


def test_all_files_have_one_plan(stopped: StoppedJob) -> None:
    assert times_of(stopped.folder) == plan_of(made_by(stopped.folder, "read.1"))
    assert "bad" not in made_by(stopped.folder, "reread.1").facts  # it was read once
    assert events_of(stopped.folder, 1).path.name == "read.1.part"


def test_a_plan_that_is_none_is_damage(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    write_part_file(folder / "times.part", {}, {"plan": None})
    with pytest.raises(DamagedFileError, match="has no plan of times"):
        times_of(folder)


def test_other_versions_are_refused(stopped: StoppedJob, tmp_path: Path) -> None:
    content = json.loads((stopped.folder / "job.json").read_text())
    content["node"]["duckdb"] = "0.1"
    (tmp_path / "job.json").write_text(json.dumps(content))
    with pytest.raises(UsageError, match=r"must be like the node that began the job \(different: duckdb .* of 0\.1\)"):
        open_ingest(tmp_path)


def test_a_file_that_was_touched_is_refused(stopped: StoppedJob, tmp_path: Path) -> None:
    content = json.loads((stopped.folder / "job.json").read_text())
    content["inputs"][0][2] += 1
    (tmp_path / "job.json").write_text(json.dumps(content))
    job = open_ingest(tmp_path)
    with job.workbench("read.0", job.paths) as (bench, _), pytest.raises(DataError, match="was changed since the job"):
        job.source(bench, 0)


def test_scratch_is_gone_in_the_end_and_threads_are_those_of_the_worker(
    stopped: StoppedJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(stopped.folder / "job.json", tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with open_ingest(tmp_path).workbench("sort.0") as (bench, scratch):
        assert scratch.parent == tmp_path
        assert bench.row("SELECT current_setting('threads')") == (1,)
    assert os.listdir(tmp_path) == ["job.json"]  # noqa: PTH208 (hidden files, too)
