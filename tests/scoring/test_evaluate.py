"""A saved model judged by labels."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.models.test_model_folder import rewrite
from tests.scoring.test_table import shops, visits
from tests.training.test_baselines import CPU

from gtea.errors import DataError, UsageError
from gtea.models.model_folder import FORMAT_VERSION
from gtea.scoring.evaluate import evaluate_accounts, evaluate_pairs
from gtea.scoring.scorer import NodeModel
from gtea.store.store import Store

__all__ = ["shops", "visits"]


def test_accounts(shops: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = shops
    labels = tmp_path / "labels.csv"
    labels.write_text("account,label\n" + "".join(f"u{i:03},{('small', 'big')[i % 2]}\n" for i in range(200)))
    found = evaluate_accounts(model, store.path, labels, device=CPU)
    assert (found["accounts"], found["as_of"]) == (200, store.end)
    assert found["metrics"]["accuracy"] > 0.9
    # Before anybody paid anything, all accounts are alike.
    early = evaluate_accounts(model, store.path, labels, as_of="0", device=CPU)
    assert early["metrics"]["roc_auc"] == 0.5
    labels.write_text("account,label\nu001,big\nu002,huge\n")
    with pytest.raises(DataError, match=r"the model knows the classes 'small', 'big' \(got 'huge'\)"):
        evaluate_accounts(model, store.path, labels, device=CPU)


def with_threshold(model: Path, folder: Path, value: float) -> Path:
    """A copy of a model that decides at another probability."""
    shutil.copytree(model, folder)
    content = json.loads((folder / "thresholds.json").read_text())
    content["threshold"]["value"] = value
    rewrite(folder, FORMAT_VERSION, thresholds=content)
    return folder


@pytest.mark.parametrize("value", [0.02, 0.5, 0.98])
def test_decisions_on_accounts_are_at_the_models_threshold(
    shops: tuple[Store, Path], tmp_path: Path, value: float
) -> None:
    store, model = shops
    folder = with_threshold(model, tmp_path / "m", value)
    names = [f"u{i:03}" for i in range(200)]
    labels = tmp_path / "labels.csv"
    # Every third label is wrong, so that decisions differ in what they cost.
    truth = [(i % 2 == 1) != (i % 3 == 0) for i in range(200)]
    labels.write_text("account,label\n" + "".join(f"u{i:03},{('small', 'big')[truth[i]]}\n" for i in range(200)))
    found = evaluate_accounts(folder, store.path, labels, as_of="400", device=CPU)["metrics"]
    ready = NodeModel.open(folder, CPU)
    chances = ready.probabilities(store, 400, np.array([store.node(name) for name in names]))[:, 1]
    assert (ready.classes[1], ready.positive) == ("big", "big")
    assert found["accuracy"] == np.mean((chances >= value) == truth)
    assert found["log_likelihood"] == pytest.approx(np.mean(np.log(np.where(truth, chances, 1 - chances))), rel=1e-6)


def test_decisions_on_pairs_are_at_the_models_threshold(visits: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = visits
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("src,dst,label\nu00,i7,no\nu00,i0,yes\nu01,i1,yes\nu01,i0,no\n")
    for value, accuracy in ((0.0, 0.5), (1.0, 0.5)):
        folder = with_threshold(model, tmp_path / f"m{value}", value)
        assert evaluate_pairs(folder, store.path, pairs, device=CPU)["metrics"]["accuracy"] == accuracy
    assert evaluate_pairs(model, store.path, pairs, device=CPU)["metrics"]["accuracy"] == 1


@pytest.mark.parametrize(("threshold", "accuracy"), [(0.0, 0.5), (1e-6, 1.0), (None, 0.5)])
def test_an_old_model_of_links_has_its_threshold_among_the_metrics(
    visits: tuple[Store, Path], tmp_path: Path, threshold: float | None, accuracy: float
) -> None:
    """That of raw probabilities: EdgeBank's are far below one half."""
    store, model = visits
    folder = shutil.copytree(model, tmp_path / "m")
    manifest, metrics = (json.loads((folder / f"{name}.json").read_text()) for name in ("manifest", "metrics"))
    for name in ("calibration.json", "thresholds.json", "predictions.parquet"):
        del manifest["files"][name]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    rewrite(folder, 4, metrics=metrics if threshold is None else {**metrics, "threshold": threshold})
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("src,dst,label\nu00,i7,no\nu00,i0,yes\nu01,i1,yes\nu01,i0,no\n")
    assert evaluate_pairs(folder, store.path, pairs, device=CPU)["metrics"]["accuracy"] == accuracy


def test_pairs(visits: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = visits
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("src,dst,label\nu00,i7,no\nu00,i0,yes\nu01,i1,yes\nu01,i0,no\n")
    found = evaluate_pairs(model, store.path, pairs, device=CPU)
    assert (found["pairs"], found["metrics"]["roc_auc"]) == (4, 1.0)
    assert evaluate_pairs(model, store.path, pairs, positive="no", device=CPU)["metrics"]["roc_auc"] == 0.0
    with pytest.raises(UsageError, match=r"--positive: must be one of the labels 'no', 'yes' \(got 'maybe'\)"):
        evaluate_pairs(model, store.path, pairs, positive="maybe", device=CPU)
    pairs.write_text("src,dst\nu00,i7\n")
    with pytest.raises(DataError, match=r"must have a column label with two classes.* \(got no such column\)"):
        evaluate_pairs(model, store.path, pairs, device=CPU)
