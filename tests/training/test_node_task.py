"""Training from split to saved model: the same bytes again, after a kill, and only from what it may see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.training.conftest import QUICK
from tests.training.kills import Killed, killed_after, weights_digest

from gtea.config import RunConfig, read_config
from gtea.errors import ModelError
from gtea.features.preprocessing import input_spec, preprocessing_for
from gtea.models.blend import LATER, OTHER_SHARES, SAME_TIME, Trust
from gtea.models.model_folder import SavedModel
from gtea.models.registry import default_config, model_config
from gtea.scoring.options import EXACT, ScoringOptions
from gtea.scoring.scorer import NodeModel
from gtea.tasks.splits import stratified_folds, temporal_split
from gtea.training.evaluation import blended
from gtea.training.fit import train_task
from gtea.training.fitted import Fitted
from gtea.training.loop import no_report
from gtea.training.node_task import NodeTask

Make = Callable[..., NodeTask]


def test_the_same_seed_gives_the_same_bytes(run_of: Make) -> None:
    first, again = run_of("a"), run_of("b")
    train_task(first, no_report)
    train_task(again, no_report)
    assert weights_digest(first.folder) == weights_digest(again.folder)
    other = run_of("c", "train.seed=1")
    train_task(other, no_report)
    assert weights_digest(other.folder) != weights_digest(first.folder)


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_bytes(run_of: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every batch of three epochs, with a checkpoint after each batch or only after each epoch."""
    whole = run_of("whole")
    train_task(whole, no_report)
    for seconds in ("0", "1000"):
        monkeypatch.setenv("GTEA_CHECKPOINT_SECONDS", seconds)
        for batches in range(1, 13, 2):
            run = run_of(f"killed-{seconds}-{batches}")
            with pytest.raises(Killed):
                train_task(run, killed_after(batches))
            with pytest.raises(ModelError, match="is a run that has not finished"):
                NodeModel.open(run.folder, torch.device("cpu"))
            train_task(run, no_report, resume=True)
            assert weights_digest(run.folder) == weights_digest(whole.folder)
            assert (run.folder / "metrics.jsonl").read_text() == (whole.folder / "metrics.jsonl").read_text()


def test_workers_change_nothing(run_of: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = set()
    for workers in ("0", "2"):
        monkeypatch.setenv("GTEA_WORKERS", workers)
        run = run_of(f"w{workers}")
        train_task(run, no_report)
        digests.add(weights_digest(run.folder))
    assert len(digests) == 1


def test_every_variant_trains(run_of: Make) -> None:
    for encoder, time in (("lstm", "false"), ("transformer", "true"), ("statistics", "false")):
        run = run_of(encoder, f"model.encoder={encoder}", f"model.time_encoding={time}", "train.epochs=1")
        metrics = train_task(run, no_report).metrics
        assert 0 <= metrics["test"]["macro_f1"] <= 1


def default(model: str, *settings: str) -> RunConfig:
    return read_config(None, [*QUICK, "sampling.fanout=1000", *settings], default_config(model_config(model), "nodes"))


def predictions_of(model: SavedModel, part: str) -> dict[str, Any]:
    assert model.predictions is not None
    rows = model.predictions.filter(np.array(model.predictions["part"]) == part)
    return {name: np.array(rows[name].to_pylist()) for name in rows.column_names}


@pytest.mark.parametrize("name", ["hybrid", "gtea-l+t", "strong-tree"])
def test_predictions_are_those_of_the_saved_model(run_of: Make, name: str) -> None:
    """Blended, corrected and decided as it will be when it is scored, each part as of its own cut."""
    run = run_of(config=default(name))
    saved = train_task(run, no_report)
    model = NodeModel.open(run.folder, torch.device("cpu"))
    assert model.threshold is not None
    column = model.positive_column
    # The validation part is answered by the trees that had not seen it: those before the last fit.
    refit = run.config.train.refit_trees
    for part in ("validation", "test"):
        rows, cut = predictions_of(saved, part), run.split.parts[part].as_of
        nodes = np.array([run.store.node(account) for account in rows["account"]])
        assert nodes.tolist() == run.labels.nodes[run.split.parts[part].index].tolist()
        assert rows["target"].tolist() == run.labels.targets[run.split.parts[part].index].tolist()
        for options in (EXACT, ScoringOptions(sampled=True)):
            found = model.probabilities(run.store, cut, nodes, options)
            same = np.allclose(found[:, column], rows[f"p_{model.positive}"], atol=1e-4)
            assert same == (part == "test" or not refit)
        alerts = rows[f"p_{model.positive}"] >= model.threshold.value
        right = alerts == (rows["target"] == column)
        assert saved.metrics[part]["accuracy"] == pytest.approx(right.mean())
    halves = ["network", "trees"] if name == "hybrid" else []
    names = [f"{prefix}_{label}" for prefix in ("p", *halves) for label in run.labels.classes]
    assert list(predictions_of(saved, "test")) == ["part", "account", "target", *names]


@pytest.mark.parametrize("name", ["hybrid", "tree", "gtea-l+t"])
def test_the_labels_of_the_test_part_change_nothing_but_its_metrics(run_of: Make, name: str) -> None:
    run = run_of("a", config=default(name, "train.epochs=1"))
    assert run.split.test is not None
    targets = run.labels.targets.copy()
    targets[run.split.test.index] = 1 - targets[run.split.test.index]
    other = replace(run, labels=replace(run.labels, targets=targets), folder=run.folder.parent / "b")
    one, two = train_task(run, no_report), train_task(other, no_report)
    for file in ("model.safetensors", "preprocessing.json", "calibration.json", "thresholds.json"):
        assert (run.folder / file).read_bytes() == (other.folder / file).read_bytes(), file
    assert one.metrics["validation"] == two.metrics["validation"]
    assert one.metrics["test"] != two.metrics["test"]
    before, after = (predictions_of(each, "test") for each in (one, two))
    assert {key for key in before if before[key].tolist() != after[key].tolist()} == {"target"}


@pytest.mark.parametrize("weighted", [False, True])
def test_class_weights_of_the_loss_are_known_to_the_correction(run_of: Make, weighted: bool) -> None:
    run = run_of(config=default("gtea-l+t", f"train.class_weights={str(weighted).lower()}", "train.epochs=1"))
    saved = train_task(run, no_report)
    assert saved.calibration is not None
    counts = np.bincount(run.labels.targets[run.split.train.index])
    assert saved.calibration["shares"] == pytest.approx(counts / counts.sum())
    if weighted:
        assert saved.calibration["class_weights"] == pytest.approx(counts.sum() / (2 * counts), rel=1e-6)
    else:
        assert saved.calibration["class_weights"] is None


def test_shares_are_by_the_weights_of_examples(run_of: Make) -> None:
    run = run_of(config=default("tree"))
    weights = np.where(run.labels.targets == 0, 3.0, 1.0)
    saved = train_task(replace(run, labels=replace(run.labels, weights=weights)), no_report)
    assert saved.calibration is not None
    counts = np.bincount(run.labels.targets[run.split.train.index]) * np.array([3, 1])
    assert saved.calibration["shares"] == pytest.approx(counts / counts.sum())


def trust_of(run: NodeTask, monkeypatch: pytest.MonkeyPatch) -> Trust:
    """How far a run trusts its validation part."""
    heard: list[Trust] = []

    def listen(blend: Any, by_model: Any, targets: Any, trust: Trust) -> Any:
        heard.append(trust)
        return blended(blend, by_model, targets, trust)

    monkeypatch.setattr("gtea.training.node_task.blended", listen)
    preprocessing = preprocessing_for(
        run.store, run.split.train.as_of, run.config, for_trees=True, labels=run.neighbour_labels()
    )
    fitted = Fitted(run.network(input_spec(preprocessing)).eval(), preprocessing)
    run.evaluate(fitted, fitted)
    (trust,) = heard
    return trust


def test_how_far_the_validation_part_is_trusted(run_of: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    by_time = run_of(config=default("hybrid"))
    assert trust_of(by_time, monkeypatch) is LATER
    folds = replace(by_time, split=stratified_folds(by_time.labels, by_time.store, k=3)[0])
    assert trust_of(folds, monkeypatch) is SAME_TIME
    assert trust_of(with_other_shares(by_time), monkeypatch) is OTHER_SHARES


def test_in_a_split_by_time_validation_accounts_are_seen_as_of_the_test_cut_too(run_of: Make) -> None:
    """What happens between the two cuts changes what is chosen. What is trained and reported does not know of it."""
    run = run_of("a", config=default("gtea-l+t", "train.epochs=1"))
    saved = train_task(run, no_report)
    test = run.split.test
    assert test is not None
    assert test.as_of > run.split.validation.as_of
    earlier = replace(run.split, test=replace(test, as_of=run.split.validation.as_of))
    other = replace(run, split=earlier, folder=run.folder.parent / "b")
    alone = train_task(other, no_report)
    assert weights_digest(run.folder) == weights_digest(other.folder)
    assert saved.calibration != alone.calibration
    ranking = ("average_precision", "roc_auc")
    assert {name: saved.metrics["validation"][name] for name in ranking} == {
        name: alone.metrics["validation"][name] for name in ranking
    }
    for name in ("account", "target"):
        before, after = (predictions_of(each, "validation")[name].tolist() for each in (saved, alone))
        assert before == after


def with_other_shares(run: NodeTask) -> NodeTask:
    """Mostly of the first class in training, and mostly of the second in validation."""
    targets = run.labels.targets.copy()
    targets[run.split.train.index] = np.arange(len(run.split.train)) % 4 == 0
    targets[run.split.validation.index] = np.arange(len(run.split.validation)) % 8 != 0
    labels = replace(run.labels, targets=targets)
    return replace(run, labels=labels, split=temporal_split(labels, run.store))


def test_a_validation_part_of_other_shares_chooses_no_threshold(run_of: Make) -> None:
    saved = train_task(with_other_shares(run_of(config=default("tree"))), no_report)
    assert saved.thresholds is not None
    assert (saved.thresholds["threshold"]["value"], saved.thresholds["threshold"]["rule"]) == (0.5, "half")
