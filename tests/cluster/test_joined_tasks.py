"""Tasks that only have to be done: by whom it doesn't matter, and nobody does them twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gtea.cluster.job_array import JobArray
from gtea.cluster.joined_tasks import begin_job, end_job, require_node_of, run_joined
from gtea.cluster.tasks import FileTask
from gtea.errors import UsageError
from gtea.runtime.progress import no_progress

from .conftest import InThisProcess

TASKS = [FileTask(f"node.{number}", "gtea.cluster.node_facts:inspect_node") for number in range(3)]


def test_they_are_run_and_nothing_is_left(tmp_path: Path) -> None:
    work, carrier = tmp_path / "out.parts", InThisProcess()
    begin_job("inspect", TASKS, work, tmp_path / "out", resume=False)
    require_node_of(work)
    assert run_joined(carrier, TASKS, work, no_progress)
    assert carrier.ran == ["node.0", "node.1", "node.2", "all"]
    end_job(carrier, work)
    assert not work.exists()


def test_one_job_of_an_array_goes_on_and_one_that_is_started_again_finds_all_done(tmp_path: Path) -> None:
    begin_job("inspect", TASKS, tmp_path, tmp_path / "out", resume=False)
    assert not run_joined(JobArray(0, 2), TASKS, tmp_path, no_progress)
    assert run_joined(JobArray(1, 2), TASKS, tmp_path, no_progress)
    end_job(JobArray(1, 2), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.part", "job.json"]
    assert run_joined(JobArray(0, 2), TASKS, tmp_path, no_progress)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.part", "job.json"]


def test_results_go_where_nothing_is_or_what_the_job_has_begun(tmp_path: Path) -> None:
    out, work = tmp_path / "out", tmp_path / "work"
    (out / "fold-1").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"out: exists\. Continue with --resume"):
        begin_job("inspect", TASKS, work, out, resume=False)
    assert not work.exists()
    begin_job("inspect", TASKS, work, out, resume=True)
    begin_job("inspect", TASKS, work, out, resume=False)
    with pytest.raises(UsageError, match=r"belongs to another job \(different: tasks\)"):
        begin_job("inspect", TASKS[:2], work, out, resume=False)


def test_a_node_unlike_the_first_refuses(tmp_path: Path) -> None:
    begin_job("inspect", TASKS, tmp_path, tmp_path / "out", resume=False)
    job = json.loads((tmp_path / "job.json").read_text())
    job["node"]["torch"] = "1.0"
    (tmp_path / "job.json").write_text(json.dumps(job))
    with pytest.raises(UsageError, match=r"different: torch .* instead of 1\.0"):
        require_node_of(tmp_path)
