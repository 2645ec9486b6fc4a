"""Trees that are fitted again with the validation part: what they were fitted to, and what stays as it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
import torch
from tests.training.conftest import QUICK, Payments

from gtea.config import RunConfig, with_settings
from gtea.features.labels_of_other_times import LabelsOfOtherTimes
from gtea.features.neighbour_labels import neighbour_labels_of
from gtea.models.boosted_trees import STRONG, BoostedTrees
from gtea.models.model_folder import SavedModel
from gtea.models.registry import default_config, model_config
from gtea.sampling.tabular import NodeRows
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.tasks.link_split import LinkSplit, split_links, with_negatives
from gtea.tasks.probability_correction import fit_correction
from gtea.training.fit import train_task
from gtea.training.link_task import LinkTask
from gtea.training.loop import no_report
from gtea.training.node_task import NodeTask

Make = Callable[..., NodeTask]


def config_of(name: str, task: Any = "nodes", **settings: Any) -> RunConfig:
    base = default_config(model_config(name), task)
    quick = dict(setting.split("=") for setting in QUICK)
    values = {key: float(value) if "." in value else int(value) for key, value in quick.items()}
    return with_settings(base, {**values, **{key.replace("__", "."): value for key, value in settings.items()}}, "test")


def both(run_of: Make, name: str, **settings: Any) -> tuple[SavedModel, SavedModel, NodeTask]:
    """The same run without and with the second fit."""
    once = run_of("once", config=config_of(name, train__refit_trees=False, **settings))
    again = run_of("again", config=config_of(name, train__refit_trees=True, **settings))
    return train_task(once, no_report), train_task(again, no_report), again


def is_tree(name: str) -> bool:
    return name.startswith(("tree.", "wide_tree."))


def test_only_the_trees_and_the_neighbour_labels_change(run_of: Make) -> None:
    once, again, run = both(run_of, "hybrid")
    assert {name for name in once.weights if is_tree(name)}
    for name, tensor in once.weights.items():
        if not is_tree(name) and name != "blend.weights":
            assert torch.equal(tensor, again.weights[name]), name
    assert not torch.equal(once.weights["tree.node_value"], again.weights["tree.node_value"])
    assert again.metrics["best_epoch"] == once.metrics["best_epoch"]
    before, after = once.preprocessing, again.preprocessing
    assert len(after["neighbour_labels"]["keys"]) == len(run.split.train) + len(run.split.validation)
    assert {**before, "neighbour_labels": None} == {**after, "neighbour_labels": None}


def test_the_trees_are_those_of_both_parts_as_of_both_later_cuts(run_of: Make) -> None:
    """Against trees that are fitted here, by hand. Labels of accounts that appeared with one are hidden from it."""
    _, again, run = both(run_of, "hybrid")
    split, labels = run.split, run.labels
    assert split.test is not None
    assert split.train.as_of < split.validation.as_of < split.test.as_of
    index = np.concatenate([split.train.index, split.validation.index])
    nodes, targets = labels.nodes[index], labels.targets[index]
    model = NodeModel(again, torch.device("cpu"))
    fitted = []
    for cut in (split.validation.as_of, split.test.as_of):
        view = run.store.as_of(cut)
        shares = LabelsOfOtherTimes(view, nodes, targets, labels.classes)
        rows = NodeRows(view, model.preprocessing, shares=shares).batch(nodes)
        trees = BoostedTrees(rows.shape[1], len(labels.classes), run.config.train.seed, STRONG)
        trees.fit(rows, torch.from_numpy(targets), torch.ones(len(index)))
        fitted.append(trees)
    fitted[0].take_mean(fitted)
    for name, buffer in fitted[0].state_dict().items():
        assert torch.equal(buffer, again.weights[f"wide_tree.{name}"]), name


def test_a_block_of_the_validation_part_is_answered_by_trees_that_have_not_seen_it(run_of: Make) -> None:
    """Calibration and threshold are chosen for trees that know as much as the saved ones, but not the answers."""
    _, again, run = both(run_of, "strong-tree")
    split, labels = run.split, run.labels
    assert split.test is not None
    blocks = split.validation_blocks()
    assert np.concatenate(blocks).tolist() == split.validation.index.tolist()
    preprocessing = NodeModel(again, torch.device("cpu")).preprocessing
    answers = []
    for block in blocks:
        index = np.setdiff1d(np.concatenate([split.train.index, split.validation.index]), block, assume_unique=True)
        nodes, targets = labels.nodes[index], labels.targets[index]
        logits = []
        for cut in (split.validation.as_of, split.test.as_of):
            view = run.store.as_of(cut)
            shares = LabelsOfOtherTimes(view, nodes, targets, labels.classes)
            rows = NodeRows(view, preprocessing, shares=shares).batch(nodes)
            trees = BoostedTrees(rows.shape[1], len(labels.classes), run.config.train.seed, STRONG)
            trees.fit(rows, torch.from_numpy(targets), torch.ones(len(index)))
            known = neighbour_labels_of(run.store, nodes, targets, labels.classes)
            seen = NodeRows(run.store.as_of(split.test.as_of), replace(preprocessing, neighbour_labels=known))
            logits.append(trees(seen.batch(labels.nodes[block])))
        answers.append(torch.softmax((logits[0] + logits[1]) / 2, dim=1).numpy())
    counts = np.bincount(labels.targets[split.train.index]).astype(np.float64)
    targets = labels.targets[split.validation.index]
    correction = fit_correction(counts, None, targets, np.concatenate(answers).astype(np.float64), later=True)
    assert again.calibration is not None
    assert again.calibration["calibration"] == correction.to_json()["calibration"]


@pytest.mark.parametrize("name", ["hybrid", "tree", "strong-tree"])
def test_the_test_part_is_answered_by_the_saved_model(run_of: Make, name: str) -> None:
    _, again, run = both(run_of, name)
    assert again.predictions is not None
    assert run.split.test is not None
    rows = again.predictions.filter(pc.equal(again.predictions["part"], "test"))
    found = NodeModel(again, torch.device("cpu")).probabilities(
        run.store, run.split.test.as_of, run.labels.nodes[run.split.test.index]
    )
    shown = np.stack([rows[f"p_{label}"].to_numpy() for label in run.labels.classes], axis=1)
    if name == "hybrid":  # training samples neighbours, scoring reads all
        assert np.corrcoef(found[:, 0], shown[:, 0])[0, 1] > 0.9
    else:
        np.testing.assert_allclose(found, shown, atol=1e-9)


def test_class_weights_are_those_of_the_first_fit(run_of: Make) -> None:
    """So that one correction undoes them in the network and in the trees."""
    once, again, run = both(run_of, "hybrid", train__class_weights=True)
    assert again.calibration is not None
    assert once.calibration is not None
    assert again.calibration["class_weights"] == once.calibration["class_weights"]
    index = run.split.train.index
    counts = np.bincount(run.labels.targets[index])
    assert again.calibration["class_weights"] == pytest.approx(counts.sum() / (2 * counts), rel=1e-6)
    for whole in run.with_validation():
        assert whole.class_weights is not None
        assert whole.class_weights.tolist() == pytest.approx(again.calibration["class_weights"])


def test_models_without_trees_are_fitted_once(run_of: Make) -> None:
    once, again, _ = both(run_of, "gtea-l+t")
    assert all(torch.equal(tensor, again.weights[name]) for name, tensor in once.weights.items())
    assert again.metrics["test"] == once.metrics["test"]


def link_task(payments: Payments, tmp_path: Any, name: str, *, refit: bool, variant: str = "strong-tree") -> LinkTask:
    config = config_of(variant, "links", train__refit_trees=refit)
    split = split_links(payments.store, train_windows=config.split.train_windows)
    return LinkTask(payments.store, with_negatives(payments.store, split), config, tmp_path / name, torch.device("cpu"))


def test_trees_of_links_also_read_the_validation_window(payments: Payments, tmp_path: Any) -> None:
    """As if it were the last of the training windows."""
    task = link_task(payments, tmp_path, "again", refit=True)
    saved = train_task(task, no_report)
    split: LinkSplit = task.split
    by_hand = replace(
        link_task(payments, tmp_path, "by-hand", refit=False),
        split=replace(split, train_parts=(*split.train_parts, split.validation)),
    )
    expected = train_task(by_hand, no_report)
    for name, tensor in expected.weights.items():
        assert torch.equal(saved.weights[name], tensor), name
    model = LinkModel(saved, torch.device("cpu"))
    assert saved.predictions is not None
    rows = saved.predictions.filter(pc.equal(saved.predictions["part"], "test"))
    src, dst = (np.array(list(map(payments.store.node, rows[end].to_pylist()))) for end in ("src", "dst"))
    scores = model.probabilities(payments.store, split.test.as_of, src, dst)
    np.testing.assert_allclose(scores, rows["p"].to_numpy(), atol=1e-9)
