"""Models that are told what is known around an account learn from it, and only from the labels they may see."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.training.test_baselines import CPU, SMALL, Row, stored

from gtea.config import ModelConfig, RunConfig, read_config
from gtea.scoring.scorer import NodeModel
from gtea.store.account_keys import keys_of_nodes
from gtea.store.store import Store
from gtea.tasks.labels import Labels, labels_from_arrays
from gtea.tasks.splits import stratified_folds
from gtea.training.fit import train_task
from gtea.training.loop import no_report
from gtea.training.node_task import NodeTask

DEPARTMENTS = ("law", "sales", "store")


def colleagues() -> list[Row]:
    """People write to their own department in four letters of five; nothing else tells the departments apart."""
    chance = np.random.default_rng(0)
    rows = []
    for time in range(1200):
        sender = int(chance.integers(120))
        receiver = int(chance.integers(120))
        if chance.random() < 0.8:
            receiver = receiver - receiver % 3 + sender % 3
        rows.append((f"u{sender:03}", f"u{receiver:03}", time, float(chance.normal())))
    return rows


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stored(colleagues(), tmp_path_factory.mktemp("letters") / "s")


def departments(store: Store) -> Labels:
    accounts = store.accounts.to_arrow().to_pylist()
    nodes = np.array([store.node(account) for account in accounts])
    targets = np.array([int(account[1:]) % 3 for account in accounts])
    return labels_from_arrays(nodes, targets, DEPARTMENTS, store, "people", np.ones(len(nodes)))


def run_of(store: Store, folder: Path, labels: Labels, family: str, *settings: str) -> NodeTask:
    base = RunConfig(ModelConfig(family=family))  # type: ignore[arg-type]
    config = read_config(None, [*SMALL, "train.metric=accuracy", "train.epochs=20", "model.d_edge=8", *settings], base)
    return NodeTask(store, labels, None, stratified_folds(labels, store, k=5)[0], config, folder, CPU)


@pytest.mark.parametrize("family", ["hybrid", "gtea", "gcn", "tgat", "tree"])
def test_company_tells_where_nothing_else_does(letters: Store, tmp_path: Path, family: str) -> None:
    run = run_of(letters, tmp_path / "m", departments(letters), family, "features.neighbour_labels=true")
    assert train_task(run, no_report).metrics["test"]["accuracy"] > 0.75


def test_and_without_it_a_tree_is_at_chance(letters: Store, tmp_path: Path) -> None:
    run = run_of(letters, tmp_path / "m", departments(letters), "tree", "features.neighbour_labels=false")
    assert train_task(run, no_report).metrics["test"]["accuracy"] < 0.6


@pytest.mark.parametrize("family", ["hybrid", "gtea", "tree"])
def test_labels_outside_the_training_part_change_no_weight_and_no_score(
    letters: Store, tmp_path: Path, family: str
) -> None:
    labels = departments(letters)
    part = stratified_folds(labels, letters, k=5)[0].test
    assert part is not None
    test = part.index
    targets = labels.targets.copy()
    targets[test] = (targets[test] + 1) % 3
    made = []
    for name, known in (("a", labels), ("b", dataclasses.replace(labels, targets=targets))):
        run = run_of(letters, tmp_path / name, labels, family, "features.neighbour_labels=true")
        run = dataclasses.replace(run, labels=known)
        train_task(run, no_report)
        model = NodeModel.open(run.folder, CPU)
        made.append(model.probabilities(letters, letters.end, labels.nodes).tobytes())
    assert made[0] == made[1]


@pytest.mark.parametrize("refit", ["false", "true"])
def test_only_labels_of_fitted_accounts_are_written_into_the_model(letters: Store, tmp_path: Path, refit: str) -> None:
    """The validation part is one of them if the trees are fitted again. The test part never is."""
    labels = departments(letters)
    settings = ("features.neighbour_labels=true", f"train.refit_trees={refit}")
    run = run_of(letters, tmp_path / "m", labels, "tree", *settings)
    train_task(run, no_report)
    known = NodeModel.open(run.folder, CPU).preprocessing.neighbour_labels
    assert known is not None
    card = (run.folder / "MODEL_CARD.md").read_text()
    fitted = run.split.train.index
    if refit == "true":
        fitted = np.concatenate([fitted, run.split.validation.index])
    assert f"Labels of {len(fitted)} accounts are part of the model" in card
    assert known.keys == tuple(sorted(keys_of_nodes(letters, labels.nodes[fitted]).tolist()))


def test_links_have_no_labels_to_look_up(gtea: Any, letters: Store, tmp_path: Path) -> None:
    words = (
        "train",
        letters.path,
        "--task",
        "links",
        "--set",
        "features.neighbour_labels=true",
        "--out",
        tmp_path / "m",
    )
    outcome = gtea(*words)
    assert outcome.code == 2
    assert "features.neighbour_labels: needs account labels" in outcome.err
    assert not (tmp_path / "m").exists()
