"""An experiment as tasks has the outcomes and tables of one process, whoever trains, also after a kill."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.cluster.conftest import InThisProcess
from tests.experiments.conftest import QUICK

from gtea.cluster.tasks import FileTask
from gtea.errors import UsageError
from gtea.experiments.paper.plan import Plan, Point
from gtea.experiments.runs.jobs import Job, Outcome
from gtea.experiments.runs.run_jobs import Crew, JobStatus, run_jobs
from gtea.experiments.runs.subject import own_subject

Run = Callable[..., Any]
Words = Callable[..., list[str]]
TIMES = ("seconds", "interrupted", "created")


@pytest.fixture
def jobs(data: Path) -> list[Job]:
    plan = Plan("paper", folds=3, settings=QUICK, device="cpu")
    subject = own_subject(data / "tiny.store", data / "labels.csv")
    return [
        job for jobs in plan.jobs(subject, [Point("gtea-he", {}, "gtea-he"), Point("tree", {}, "tree")]) for job in jobs
    ]


def timeless(outcomes: dict[str, Outcome] | None) -> dict[str, dict[str, Any]]:
    assert outcomes is not None
    found = {stem: {**vars(outcome), **dict.fromkeys(TIMES)} for stem, outcome in sorted(outcomes.items())}
    return dict(json.loads(json.dumps(found)))  # tuples become lists, as in their files


def test_a_job_goes_through_json(jobs: list[Job]) -> None:
    for job in jobs:
        assert Job.from_json(json.loads(json.dumps(job.to_json()))) == job


def test_the_outcomes_are_those_of_one_process_also_after_a_kill(jobs: list[Job], tmp_path: Path) -> None:
    alone = run_jobs(jobs, tmp_path / "alone", lambda status: None)

    def die(task: FileTask, folder: Path) -> None:
        if len(killed.ran) == 2:
            raise KeyboardInterrupt

    killed, again = InThisProcess(die), InThisProcess()
    with pytest.raises(KeyboardInterrupt):
        run_jobs(jobs, tmp_path / "out", lambda status: None, Crew(carrier=killed))
    seen: list[JobStatus] = []
    outcomes = run_jobs(jobs, tmp_path / "out", seen.append, Crew(carrier=again))
    assert timeless(outcomes) == timeless(alone)
    assert len([status for status in seen if status.outcome is not None]) == 4
    assert seen[-1].under_way == 0
    names = [sorted(path.relative_to(out) for path in out.rglob("*")) for out in (tmp_path / "out", tmp_path / "alone")]
    assert names[0] == names[1]
    assert not (tmp_path / "out.parts").exists()
    for path in (tmp_path / "alone").rglob("*.safetensors"):
        assert path.read_bytes() == (tmp_path / "out" / path.relative_to(tmp_path / "alone")).read_bytes()


def test_other_data_than_those_of_the_job_are_refused(jobs: list[Job], tmp_path: Path) -> None:
    class Elsewhere(InThisProcess):
        """Where the labels are others."""

        def run(self, tasks: Any, *rest: Any) -> bool:
            tasks[0].arguments["job"]["data_digest"] = "0"
            return super().run(tasks, *rest)

    with pytest.raises(UsageError, match=r"tiny\.store: store or labels are not those that the job began with"):
        run_jobs(jobs, tmp_path / "out", lambda status: None, Crew(carrier=Elsewhere()))


@pytest.mark.slow
def test_jobs_of_an_array_make_the_same_table(gtea: Run, words: Words, tmp_path: Path) -> None:
    """The second job begins when the first has ended its share: none waits for another but at the end."""
    models = ("--models", "tree", "--protocol", "paper", "--folds", 3)
    before = torch.get_num_threads()
    assert gtea(*words("table1", tmp_path / "alone", *models)).code == 0
    first = gtea(*words("table1", tmp_path / "out", *models, "--on", "array:0/2"))
    assert first.code == 0, first.err
    assert "this job's share is done; another writes" in first.out
    second = gtea(*words("table1", tmp_path / "out", *models, "--on", "array:1/2"))
    assert second.code == 0, second.err
    assert torch.get_num_threads() == before
    pages = [path.read_text() for path in sorted(tmp_path.glob("*/tiny-paper.md"))]
    assert len(pages) == 2
    assert "| tree |" in pages[0]
    refused = gtea(*words("table1", tmp_path / "out", *models, "--on", "local:2", "--jobs", 2))
    assert refused.code == 2
    assert "--jobs: does not go with --on" in refused.err
    refused = gtea(*words("table1", tmp_path / "out", *models, "--work", "x"))
    assert "--work: only goes with --on" in refused.err
