"""A saved model judged by labels."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.scoring.test_table import shops, visits
from tests.training.test_baselines import CPU

from gtea.errors import DataError, UsageError
from gtea.scoring.evaluate import evaluate_accounts, evaluate_pairs
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
