"""The suite: what is trained in which order, what is not trained again, and what comes of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tests.experiments.defaults.conftest import leave, outcome_of, suite_of

from gtea.errors import UsageError
from gtea.experiments.defaults import standing
from gtea.experiments.defaults.resampling import paired_interval
from gtea.experiments.defaults.suite import TRAINED, Suite, SuiteResult
from gtea.experiments.defaults.suite_tables import SplitCheck, Table
from gtea.experiments.runs import run_jobs as module
from gtea.experiments.runs.jobs import Job, Outcome, save_outcome
from gtea.training.loop import TrainingListener

FINE = {"tiny": SplitCheck(None), "tiny:folds": SplitCheck(None)}


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "paired_interval", partial(paired_interval, num_resamples=30))


def run(suite: Suite, checks: dict[str, SplitCheck] = FINE) -> SuiteResult:
    found = suite.run(checks, lambda status: None, lambda result: None)
    assert found is not None
    return found


def test_trainings_that_are_there_are_compared_and_not_repeated(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "run_job", pytest.fail)
    result = run(suite)
    assert [name for name, _ in result.compared] == ["tiny", "tiny:folds"]
    for metric in (None, "log_likelihood"):
        assert result.verdicts(metric) == {"ahead": ["tiny"], "level": [], "behind": ["tiny:folds"]}
    first = result.tables[0].standing
    assert first is not None
    assert first.runs == (0, 1)
    assert list(first.figures) == ["hybrid", "network", "trees", "tree", "strong-tree", "majority"]
    assert first.mean("majority", "average_precision") == pytest.approx(0.25)


def test_missing_trainings_are_done_seed_by_seed_and_written_after_each(
    two_tables: list[Table], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    suite = Suite(two_tables, 2, tmp_path)
    done: list[tuple[str, str, int]] = []
    written: list[int] = []

    def train(job: Job, out: Path, listener: TrainingListener) -> Outcome:
        done.append((job.subject.name, job.model, job.repeat.seed))
        leave(job, out, 0.5)
        return outcome_of(job)

    monkeypatch.setattr(module, "run_job", train)
    result = suite.run(FINE, lambda status: None, lambda found: written.append(len(found.compared)))
    assert result is not None
    names = [table.name for table in two_tables]
    assert done == [(name, model, seed) for seed in (0, 1) for name in names for model in TRAINED]
    assert written == [0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2]
    assert [standing.runs for _, standing in result.compared] == [(0, 1), (0, 1)]


def test_a_seed_with_a_failed_training_is_left_out(two_tables: list[Table], tmp_path: Path) -> None:
    suite = suite_of(two_tables, tmp_path)
    job = suite.jobs["tiny", "tree", 1]
    save_outcome(job.outcome_file(suite.out), outcome_of(job, "failed"))
    found = run(suite).tables[0]
    assert found.standing is not None
    assert found.standing.runs == (0,)
    assert [outcome.state for outcome in found.outcomes].count("failed") == 1


def test_a_skipped_table_is_not_trained(
    two_tables: list[Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = suite_of(two_tables, tmp_path)
    monkeypatch.setattr(module, "run_job", pytest.fail)
    for (table, _, _), job in suite.jobs.items():
        if table == "tiny:folds":
            job.outcome_file(suite.out).unlink()
    result = run(suite, {**FINE, "tiny:folds": SplitCheck("senseless")})
    assert [name for name, _ in result.compared] == ["tiny"]
    assert result.tables[1].check.reason == "senseless"
    assert result.tables[1].outcomes == ()


def test_every_table_is_split_before_anything_is_trained(two_tables: list[Table], tmp_path: Path) -> None:
    late = replace(two_tables[0].subject, labels=tmp_path / "labels.csv")
    lines = (two_tables[0].subject.labels or tmp_path).read_text().splitlines()
    (tmp_path / "labels.csv").write_text("\n".join([lines[0], *(line for line in lines if line.endswith("normal"))]))
    stages: list[float | None] = []
    checks = Suite(two_tables, 1, tmp_path).checks(lambda stage, done: stages.append(done))
    assert list(checks) == ["tiny", "tiny:folds"]
    assert stages == [0, 0.5]
    one_class = Suite([Table(late, "time", folds=False)], 1, tmp_path).checks()
    assert "labels must be of at least two classes" in str(one_class["tiny"].reason)
    assert not (tmp_path / "models").exists()


def test_there_is_at_least_one_seed(two_tables: list[Table], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--seeds: must be at least 1 \(got 0\)\. Try 3\."):
        Suite(two_tables, 0, tmp_path)
