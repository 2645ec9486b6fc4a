"""The curves: what is trained in which order, what is not trained again, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.experiments.few_labels.conftest import SIZES, average_precision_of, few_outcome, leave_all

from gtea.datasets.prepare import FACTS
from gtea.errors import UsageError
from gtea.experiments.few_labels.learning_curves import CurvesResult, LearningCurves, find_subjects
from gtea.experiments.runs import run_jobs as module
from gtea.experiments.runs.jobs import Job, Outcome, save_outcome
from gtea.models.registry import default_config, model_config
from gtea.training.loop import TrainingListener


def test_every_model_has_no_setting_but_the_seed(curves: LearningCurves) -> None:
    assert len(curves.jobs) == 2 * 3 * 3
    for (_, size, draw, model), job in curves.jobs.items():
        defaults = default_config(model_config(model), "nodes")
        assert job.config == replace(defaults, train=replace(defaults.train, seed=draw))
        assert (job.repeat.per_class, job.repeat.seed, job.repeat.fold, job.settings) == (size, draw, None, {})


def test_trainings_that_are_there_are_compared_and_not_repeated(
    result: CurvesResult, curves: LearningCurves, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "run_job", pytest.fail)
    assert curves.run(lambda status: None, lambda found: None) == result
    assert [(each.data, each.per_class) for each in result.sizes] == [("tiny", 4), ("tiny", 8)]
    assert result.verdicts("average_precision") == {"ahead": ["tiny 4"], "level": [], "behind": ["tiny 8"]}
    # The best log-likelihood has tree with 4 labels and strong-tree with 8: here it is the other way round.
    assert result.verdicts("balanced_log_likelihood")["behind"] == ["tiny 4", "tiny 8"]
    assert [standing.differences["macro_f1"].rival for _, standing in result.compared] == ["strong-tree", "tree"]


def test_missing_trainings_are_done_draw_by_draw_and_written_after_each(
    curves: LearningCurves, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[int | None, int, str]] = []
    written: list[int] = []

    def train(job: Job, out: Path, listener: TrainingListener) -> Outcome:
        done.append((job.repeat.per_class, job.repeat.seed, job.model))
        return few_outcome(job, average_precision_of(job))

    monkeypatch.setattr(module, "run_job", train)
    there = list(curves.jobs.values())[:2]
    for job in there:
        save_outcome(job.outcome_file(curves.out), few_outcome(job, average_precision_of(job)))
    curves.run(lambda status: None, lambda found: written.append(len(found.compared)))
    models = ("hybrid", "tree", "strong-tree")
    assert done == [(size, draw, model) for draw in range(3) for size in SIZES for model in models][2:]
    # Two draws are what it takes to compare.
    assert written == [0] * 6 + [1] * 3 + [2] * 7


def test_a_failed_training_takes_its_draw_with_it(curves: LearningCurves) -> None:
    failed = curves.jobs["tiny", 4, 1, "tree"]
    leave_all(curves, skip=[failed])
    save_outcome(failed.outcome_file(curves.out), few_outcome(failed, 0.9, "failed"))
    result = curves.run(lambda status: None, lambda found: None)
    assert result is not None
    found = result.sizes[0]
    assert found.standing is not None
    assert found.standing.runs == (0, 2)
    assert len(found.outcomes) == 9


@pytest.mark.parametrize(
    ("sizes", "draws", "message"),
    [
        ((4,), 1, r"--draws: must be at least 2 \(got 1\)\. Try 10\."),
        ((3, 9), 2, r"--sizes: must be at least 4 \(got 3\)\. Try 10 30 100 300\."),
    ],
)
def test_curves_that_can_not_be(curves: LearningCurves, sizes: tuple[int, ...], draws: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        LearningCurves(curves.subjects, sizes, draws, curves.out)


def test_data_with_too_few_labels_are_refused_before_anything_is_trained(curves: LearningCurves) -> None:
    curves.check()
    with pytest.raises(UsageError, match=r"--sizes 38: must leave at least 10 accounts of either class of tiny"):
        replace(curves, sizes=(4, 38)).check()


def test_data_need_labels_and_a_name_of_their_own(data: Path, tmp_path: Path) -> None:
    def folder(place: str, **facts: str) -> str:
        made = tmp_path / place
        made.mkdir()
        for source, name in (("tiny.store", "store"), ("labels.csv", "labels.csv")):
            (made / name).symlink_to(data / source)
        (made / FACTS).write_text(json.dumps({"name": "mine", "task": "nodes", **facts}))
        return str(made)

    one, two, links = folder("one"), folder("two"), folder("links", task="links")
    assert [subject.name for subject in find_subjects([one, one], tmp_path)] == ["mine"]
    with pytest.raises(UsageError, match=r"--data: names must differ \(got 'mine' twice\)\. Leave one out"):
        find_subjects([one, two], tmp_path)
    with pytest.raises(UsageError, match=r"links: must have labels \(it has links only\)\. Choose other data\."):
        find_subjects([links], tmp_path)
