"""A few labels: which are drawn, that nothing else is known in training, and how the others are scored."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import log
from pathlib import Path

import numpy as np
import pytest

import gtea
from gtea.errors import UsageError
from gtea.experiments.runs import few_labels_request as module
from gtea.experiments.runs.few_labels_request import FewLabelsRequest, draw_accounts, few_labels_metrics
from gtea.experiments.runs.jobs import Job, Repeat, read_outcome
from gtea.experiments.runs.run_job import run_job
from gtea.experiments.runs.subject import Subject
from gtea.models.registry import default_config, model_config
from gtea.training.fit import train_task
from gtea.training.loop import no_report
from gtea.training.request import NodeRequest

TARGETS = np.array([0] * 70 + [1] * 30)
CLASSES = ("bad", "good")


def few_job(subject: Subject, model: str = "strong-tree", per_class: int = 12, draw: int = 3) -> Job:
    config = default_config(model_config(model), "nodes")
    config = replace(config, train=replace(config.train, seed=draw))
    return Job(subject, subject.digest(), "few-labels", model, Repeat(None, draw, per_class), config, model, 0, "cpu")


def few_request(job: Job) -> FewLabelsRequest:
    request = job.request()
    assert isinstance(request, FewLabelsRequest)
    return request


def test_as_many_of_each_class_are_drawn_and_the_others_are_the_test() -> None:
    given, others = draw_accounts(TARGETS, CLASSES, "mine", 12, 0)
    assert np.bincount(TARGETS[given]).tolist() == [12, 12]
    assert sorted([*given, *others]) == list(range(100))
    assert np.bincount(TARGETS[others]).tolist() == [58, 18]


def test_data_number_and_draw_decide_what_is_drawn() -> None:
    first = draw_accounts(TARGETS, CLASSES, "mine", 12, 0)[0].tolist()
    assert draw_accounts(TARGETS, CLASSES, "mine", 12, 0)[0].tolist() == first
    others = [("yours", 12, 0), ("mine", 12, 1), ("mine", 13, 0)]
    drawn = [draw_accounts(TARGETS, CLASSES, *other)[0].tolist() for other in others]
    assert all(first != each and not set(first) <= set(each) for each in drawn)


def test_a_large_test_part_is_drawn_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TEST", 60)
    given, others = draw_accounts(TARGETS, CLASSES, "mine", 12, 0)
    assert len(others) == len(set(others.tolist()) - set(given.tolist())) == 60
    assert 58 > np.bincount(TARGETS[others])[0] > 40  # not the first ones
    assert others.tolist() != draw_accounts(TARGETS, CLASSES, "mine", 12, 1)[1].tolist()
    # Enough would be left, but not enough of them are drawn.
    monkeypatch.setattr(module, "MAX_TEST", 25)
    with pytest.raises(
        UsageError, match=r"--sizes 12: must leave at least 10 accounts of either class of mine to test"
    ):
        draw_accounts(TARGETS, CLASSES, "mine", 12, 0)


@pytest.mark.parametrize(("per_class", "left"), [(21, 9), (30, 0), (40, 0)])
def test_labels_that_are_too_few_are_refused(per_class: int, left: int) -> None:
    draw_accounts(TARGETS, CLASSES, "mine", 20, 0)
    with pytest.raises(UsageError, match=rf"--sizes {per_class}: .* \(got {left} of 'good'\)\. Use smaller sizes\."):
        draw_accounts(TARGETS, CLASSES, "mine", per_class, 0)


def test_data_with_more_than_two_classes_are_refused(subject: Subject, tmp_path: Path) -> None:
    assert subject.labels is not None
    lines = subject.labels.read_text().splitlines()
    (tmp_path / "labels.csv").write_text("\n".join([*lines[:-9], *(line + "ish" for line in lines[-9:])]) + "\n")
    with pytest.raises(UsageError, match=r"^tiny: must have two classes \(got 'illicit', .*\)\. Choose other data\."):
        few_job(replace(subject, labels=tmp_path / "labels.csv")).request()


def test_training_knows_the_drawn_labels_only_as_of_the_end(subject: Subject, tmp_path: Path) -> None:
    request = few_request(few_job(subject))
    task = request.once(tmp_path / "model")
    assert not set(task.labels.nodes) & set(request.test.nodes)
    assert task.labels.report["classes"] == {"illicit": 12, "normal": 12}
    split = task.split
    assert split.test is None
    assert (len(split.train), len(split.validation)) == (18, 6)
    assert split.train.as_of == split.validation.as_of == request.store.as_of(None).cut
    assert request.positive == "illicit"  # the rarer one of all labels: those that were drawn are as many of each
    everything = NodeRequest.read(subject.store, subject.labels)
    truth = dict(zip(everything.labels.nodes.tolist(), everything.labels.targets.tolist(), strict=True))
    for labels in (request.labels, request.test):
        assert [truth[node] for node in labels.nodes.tolist()] == labels.targets.tolist()
    part = request.test_part()
    assert part["accounts"] == len(everything.labels) - 24
    assert part["positive"] == part["classes"]["illicit"] == everything.labels.report["classes"]["illicit"] - 12


def test_it_is_what_the_estimator_does(subject: Subject, tmp_path: Path) -> None:
    request = few_request(few_job(subject, draw=1))
    model = train_task(request.once(tmp_path / "model"), no_report)
    names, labels = np.array(request.labels.classes), request.labels
    accounts = request.store.accounts
    estimator = gtea.GTEAClassifier(subject.store, model="strong-tree", random_state=1, device="cpu")
    estimator.fit(accounts.take(labels.nodes).to_pylist(), names[labels.targets])
    probabilities = estimator.predict_proba(accounts.take(request.test.nodes).to_pylist())
    assert len(np.unique(probabilities)) > 10
    expected = few_labels_metrics(request.test.targets, probabilities, probabilities.argmax(axis=1), 0)
    found = request.test_metrics(model)
    for metric in ("average_precision", "balanced_log_likelihood", "roc_auc"):  # decisions depend on the positive class
        assert found[metric] == expected[metric]


def test_metrics_by_counting() -> None:
    rng = np.random.default_rng(5)
    targets = (rng.random(60) < 0.2).astype(np.int64)
    scores = np.round(np.clip(0.3 * targets + 0.7 * rng.random(60), 0.01, 0.99), 2)
    predicted = (scores >= 0.6).astype(np.int64)
    found = few_labels_metrics(targets, np.stack([1 - scores, scores], axis=1), predicted, 1)
    good, bad = scores[targets == 1], scores[targets == 0]
    halves = sum(map(log, good)) / len(good) / 2 + sum(log(1 - score) for score in bad) / len(bad) / 2
    assert found["balanced_log_likelihood"] == pytest.approx(halves)
    wins = sum((one > other) + 0.5 * (one == other) for one in good for other in bad)
    assert found["roc_auc"] == pytest.approx(wins / len(good) / len(bad))
    precision = [(good >= value).sum() / (scores >= value).sum() for value in good]
    assert found["average_precision"] == pytest.approx(np.mean(precision))
    f1 = [
        2 * ((targets == c) & (predicted == c)).sum() / ((targets == c).sum() + (predicted == c).sum()) for c in (0, 1)
    ]
    assert found["macro_f1"] == pytest.approx(np.mean(f1))
    swapped = few_labels_metrics(1 - targets, np.stack([scores, 1 - scores], axis=1), 1 - predicted, 0)
    assert swapped == pytest.approx(found)


def test_the_outcome_has_the_figures_of_the_others(subject: Subject, tmp_path: Path) -> None:
    job = few_job(subject)
    outcome = run_job(job, tmp_path, no_report)
    kept = read_outcome(job, tmp_path)
    assert kept is not None
    assert (kept.test, kept.split, kept.per_class) == (outcome.test, outcome.split, 12)
    assert job.outcome_file(tmp_path).parent.name == "tiny-few-labels"
    assert job.outcome_file(tmp_path).name.startswith("strong-tree-n12-seed3-")
    assert (outcome.label, outcome.protocol) == ("12 per class, draw 4", "few-labels")
    assert set(outcome.test) == {"average_precision", "balanced_log_likelihood", "macro_f1", "roc_auc"}
    assert outcome.split["test"] == few_request(job).test_part()
    assert outcome.split["validation"]["accounts"] == 6
    assert asdict(run_job(job, tmp_path, no_report)) == asdict(kept)  # what is done is not done again
    job.outcome_file(tmp_path).unlink()
    again = run_job(job, tmp_path, no_report)  # the model is there, and is scored again
    assert again.interrupted
    assert asdict(again) == {**asdict(outcome), "interrupted": True, "seconds": again.seconds}
