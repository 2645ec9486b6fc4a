"""What a helper is asked and what it answers, without a process of its own; test_run_jobs.py has real ones."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.conftest import QUICK

from gtea.errors import DataError, ModelError, StoreError
from gtea.experiments.paper.plan import Plan, Point
from gtea.experiments.runs.jobs import Job, read_outcome
from gtea.experiments.runs.subject import own_subject
from gtea.experiments.runs.worker import handle_request
from gtea.experiments.runs.worker_pool import job_request, worker_error


@pytest.fixture
def job(data: Path) -> Job:
    plan = Plan("paper", settings=QUICK, device="cpu")
    return plan.jobs(own_subject(data / "tiny.store", data / "labels.csv"), [Point("gtea-he", {}, "gtea-he")])[0][1]


def asked(job: Job, out: Path) -> list[dict[str, Any]]:
    """The lines of the answer to a question that went through JSON."""
    answers = io.StringIO()
    handle_request(json.loads(json.dumps(job_request(job, out))), answers)
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def test_it_reports_and_then_says_what_came_of_it(job: Job, tmp_path: Path) -> None:
    first, *_, last = asked(job, tmp_path)
    assert first["report"]["epochs"] == 1
    outcome = read_outcome(job, tmp_path)
    assert outcome is not None
    assert last["outcome"]["test"] == outcome.test
    assert (outcome.fold, outcome.split["split"]) == (1, "fold 2 of 5")


def test_what_goes_wrong_is_told_as_if_it_had_gone_wrong_here(job: Job, data: Path, tmp_path: Path) -> None:
    (tmp_path / "models").write_text("in the way")
    (line,) = asked(job, tmp_path)
    error = worker_error(job, line)
    assert isinstance(error, StoreError)
    assert "Check space and permissions" in str(error)
    assert "models" in str(error)
    labels = tmp_path / "labels.csv"
    labels.write_text("account,label\n" + "\n".join((data / "labels.csv").read_text().splitlines()[1:9]) + "\n")
    few = Plan("paper", settings=QUICK).jobs(own_subject(data / "tiny.store", labels), [Point("gcn", {}, "gcn")])[0][0]
    (line,) = asked(few, tmp_path / "out")
    assert isinstance(worker_error(few, line), DataError)
    assert "5 folds need at least 5 accounts of each of two classes" in line["lines"][0]


def test_a_helper_that_died_and_one_with_a_bug(job: Job) -> None:
    died = worker_error(job, {"died": -9})
    assert isinstance(died, ModelError)
    assert f"{job.stem}: its process ended with code -9. If memory ran out, use fewer --jobs" in str(died)
    assert isinstance(worker_error(job, {"error": None, "lines": ["KeyError: 3"]}), RuntimeError)
