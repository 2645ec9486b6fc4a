"""Jobs: what tells their names apart, and what they ask of training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.conftest import QUICK
from tests.experiments.paper.test_plan import job

from gtea.errors import ModelError
from gtea.experiments.paper.plan import Plan, Point
from gtea.experiments.runs.jobs import Job, read_outcome
from gtea.experiments.runs.run_job import run_job
from gtea.experiments.runs.subject import Subject, own_subject
from gtea.training.loop import no_report
from gtea.training.request import Fold, LinkRequest, NodeRequest


def test_a_name_is_that_of_data_and_settings_with_an_effect(subject: Subject, links: Subject, data: Path) -> None:
    plain = job(subject, Plan())
    assert plain.stem.startswith("gtea-l-seed0-")
    assert plain.settings == {}
    same = [
        job(subject, Plan(device="cpu")),
        job(subject, Plan(settings=("train.lr=0.001",))),
        job(subject, Plan(folds=9)),
        job(subject, Plan(), model__attention="sparsemax"),
    ]
    assert {each.stem for each in same} == {plain.stem}
    mine = own_subject(data / "tiny.store", data / "labels.csv", positive="normal")
    others = [
        job(subject, Plan(settings=("train.lr=0.002",))),
        job(subject, Plan(seed=1)),
        job(subject, Plan("paper")),
        job(subject, Plan("paper", folds=4)),
        job(subject, Plan(), model__attention="softmax"),
        job(links, Plan()),
        job(mine, Plan()),
    ]
    assert len({each.stem for each in (plain, *others)}) == len(others) + 1


def test_other_labels_have_other_names(subject: Subject, data: Path, tmp_path: Path) -> None:
    lines = (data / "labels.csv").read_text().splitlines()
    (tmp_path / "labels.csv").write_text("\n".join(lines[:-1]) + "\n")
    fewer = own_subject(data / "tiny.store", tmp_path / "labels.csv")
    assert job(fewer, Plan()).stem != job(subject, Plan()).stem


def test_a_fold_is_what_is_asked_of_training(subject: Subject, links: Subject) -> None:
    jobs = Plan("paper", 3).jobs(subject, [Point("tree", {}, "tree")])[0]
    requests = [made.request() for made in jobs]
    assert [request.fold for request in requests if isinstance(request, NodeRequest)] == [Fold(i, 3) for i in range(3)]
    splits = [request.split().describe()["split"] for request in requests if isinstance(request, NodeRequest)]
    assert splits == ["fold 1 of 3", "fold 2 of 3", "fold 3 of 3"]
    by_time = job(subject, Plan("temporal", 3)).request()
    assert isinstance(by_time, NodeRequest)
    assert by_time.fold is None
    assert isinstance(job(links, Plan("paper", 3)).request(), LinkRequest)


@pytest.fixture
def done(subject: Subject, tmp_path: Path) -> Job:
    """A job whose outcome is kept in tmp_path."""
    made = Plan("paper", settings=QUICK, device="cpu").jobs(subject, [Point("gtea-he", {}, "gtea-he")])[0][1]
    run_job(made, tmp_path, no_report)
    return made


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("dropout", 0.7, r"was made with model\.dropout = 0\.7 \(now it is 0\.0: a default has changed\)"),
        (
            "tree_first",
            True,
            r"was made with model\.tree_first = True, which this version of gtea no longer has\. Delete the file",
        ),
    ],
)
def test_outcomes_of_another_gtea_are_not_taken_for_this_ones(
    done: Job, tmp_path: Path, key: str, value: Any, message: str
) -> None:
    kept = json.loads(done.outcome_file(tmp_path).read_text())
    kept["config"]["model"][key] = value
    done.outcome_file(tmp_path).write_text(json.dumps(kept))
    with pytest.raises(ModelError, match=message):
        read_outcome(done, tmp_path)


def test_outcomes_from_before_labels_were_drawn_are_read(done: Job, tmp_path: Path) -> None:
    kept = json.loads(done.outcome_file(tmp_path).read_text())
    assert kept.pop("per_class") is None
    done.outcome_file(tmp_path).write_text(json.dumps(kept))
    outcome = read_outcome(done, tmp_path)
    assert outcome is not None
    assert outcome.label == "fold 2"
    del kept["seed"]
    done.outcome_file(tmp_path).write_text(json.dumps(kept))
    with pytest.raises(ModelError, match=r"can't be read \(.*seed.*\)\. Delete it to repeat the run\."):
        read_outcome(done, tmp_path)


def test_a_setting_that_was_off_and_is_gone_changes_nothing(done: Job, tmp_path: Path) -> None:
    kept = json.loads(done.outcome_file(tmp_path).read_text())
    kept["config"]["model"]["tree_beside"] = False
    kept["config"]["model"]["tree_first"] = False
    done.outcome_file(tmp_path).write_text(json.dumps(kept))
    assert read_outcome(done, tmp_path) is not None
