"""Names of tables, what is trained on them, and splits that can't show anything."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gtea.errors import UsageError
from gtea.experiments.defaults.suite_tables import QUICK_TABLES, Table, check_table, default_names, find_tables
from gtea.experiments.runs.generated import WORLDS
from gtea.experiments.runs.jobs import Job
from gtea.experiments.runs.subject import Subject, own_subject
from gtea.models.registry import default_config, model_config
from gtea.store.store import Store
from gtea.training.request import Fold, LinkRequest, NodeRequest


@pytest.fixture
def folder(data: Path, tmp_path: Path) -> Path:
    """The tiny store as gtea datasets prepare would have left it."""
    shutil.copytree(data / "tiny.store", tmp_path / "mine" / "store")
    shutil.copy(data / "labels.csv", tmp_path / "mine" / "labels.csv")
    (tmp_path / "mine" / "dataset.json").write_text(json.dumps({"name": "mine", "task": "nodes"}))
    return tmp_path / "mine"


def test_a_folder_is_three_tables(folder: Path, tmp_path: Path) -> None:
    names = [str(folder), f"{folder}:folds", f"{folder}:links", str(folder)]
    time, folds, links = find_tables(names, tmp_path / "out")
    assert [table.name for table in (time, folds, links)] == ["mine", "mine:folds", "mine:links"]
    assert [table.group for table in (time, folds, links)] == ["time", "folds", "links"]
    assert (links.subject.task, links.subject.labels, links.folds) == ("links", None, False)
    assert folds.folds
    requests = [table.job("", "tree", 2).request() for table in (time, folds, links)]
    assert isinstance(requests[0], NodeRequest)
    assert isinstance(requests[1], NodeRequest)
    assert [request.fold for request in requests[:2] if isinstance(request, NodeRequest)] == [None, Fold(2, 5)]
    assert isinstance(requests[2], LinkRequest)


def test_the_seed_is_the_only_setting(folder: Path, tmp_path: Path) -> None:
    tables = find_tables([str(folder), f"{folder}:folds", f"{folder}:links"], tmp_path / "out")
    for table in tables:
        for model in ("hybrid", "tree"):
            job = table.job("", model, 4)
            plain = default_config(model_config(model), table.subject.task)
            assert job.settings == {}
            assert job.config == replace(plain, train=replace(plain.train, seed=4))
    assert [tables[1].job("", "tree", seed).repeat.fold for seed in (0, 4, 5)] == [0, 4, 0]
    groups = [table.job("", "tree", 0).group for table in tables]
    assert groups == ["mine-temporal", "mine-folds-paper", "mine-links-temporal"]


def test_a_data_set_without_labels_has_links_only(folder: Path, tmp_path: Path) -> None:
    (folder / "dataset.json").write_text(json.dumps({"name": "mine", "task": "links"}))
    (table,) = find_tables([str(folder), f"{folder}:links"], tmp_path / "out")
    assert (table.name, table.group) == ("mine:links", "links")
    with pytest.raises(UsageError, match=r"--data mine:folds: must have labels \(it has links only\)"):
        find_tables([f"{folder}:folds"], tmp_path / "out")


def test_names_must_be_known_and_different(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--data world:drif: no such data set or folder\. Did you mean 'world:drift'"):
        find_tables(["world:drif:links"], tmp_path / "out")
    shutil.copytree(folder, tmp_path / "copy")
    with pytest.raises(UsageError, match=r"two tables must not have one name \(got 'mine' twice\)"):
        find_tables([str(folder), str(tmp_path / "copy")], tmp_path / "out")


def test_by_default_all_that_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GTEA_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert default_names() == list(WORLDS)
    for name in ("bitcoin_otc", "mooc"):
        (tmp_path / name).mkdir()
    with gzip.open(tmp_path / "bitcoin_otc" / "ratings.csv.gz", "wt") as stream:
        stream.write("never read")
    (tmp_path / "bitcoin_otc" / "labels.csv").write_text("never read")
    (tmp_path / "mooc" / "mooc.csv").write_text("never read")
    public = ["bitcoin_otc", "bitcoin_otc:folds", "mooc:links", "bitcoin_otc:links"]
    assert default_names() == [*public, *WORLDS]


def test_worlds_are_a_group_of_their_own(tmp_path: Path) -> None:
    tables = find_tables(QUICK_TABLES, tmp_path)
    assert [table.name for table in tables] == ["world:tiny", "world:tiny:folds", "world:tiny:links"]
    assert {table.group for table in tables} == {"worlds"}
    assert check_table(tables[0].job("", "tree", 0)).reason is None


def job_of(store: Store, labels: dict[str, str], tmp_path: Path, name: str = "rows", *, folds: bool = False) -> Job:
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(["account,label", *(f"{account},{label}" for account, label in labels.items())]) + "\n")
    subject = replace(own_subject(store.path, path), name=name)
    return Table(subject, "time", folds).job("", "tree", 0)


def test_a_split_without_enough_of_a_class_is_skipped(store_of: Callable[..., Store], tmp_path: Path) -> None:
    rows = [(f"a{i:03d}", "hub", 10 * i + k, 1.0) for i in range(150) for k in (0, 1)]
    store = store_of(rows)
    rare = {f"a{i:03d}": "bad" if i % 10 == 0 else "good" for i in range(150)}
    found = check_table(job_of(store, rare, tmp_path))
    assert found.reason is not None
    assert found.reason.startswith("the test part has 3 of 'bad' and 27 of 'good', and fewer than 10 of a class")
    assert check_table(job_of(store, rare, tmp_path, folds=True)).reason is None
    assert check_table(job_of(store, rare, tmp_path, "world:own")).reason is None
    even = {f"a{i:03d}": "bad" if i % 2 == 0 else "good" for i in range(150)}
    assert check_table(job_of(store, even, tmp_path)).reason is None


def test_a_split_that_sees_the_beginning_only_is_skipped(store_of: Callable[..., Store], tmp_path: Path) -> None:
    rows = [(f"a{i:03d}", "hub", i + 200 * k, 1.0) for i in range(150) for k in range(40)]
    even = {f"a{i:03d}": "bad" if i % 2 == 0 else "good" for i in range(150)}
    found = check_table(job_of(store_of(rows), even, tmp_path))
    assert found.reason is not None
    assert found.reason.startswith("training sees the first")
    assert "early_training" in [warning.code for warning in found.warnings]


def test_a_split_that_is_refused_is_skipped(store_of: Callable[..., Store], tmp_path: Path) -> None:
    rows = [(f"a{i:03d}", "hub", i, 1.0) for i in range(50)]
    sorted_by_time = {f"a{i:03d}": "bad" if i < 20 else "good" for i in range(50)}
    found = check_table(job_of(store_of(rows), sorted_by_time, tmp_path))
    assert found.reason is not None
    assert "the validation part must hold accounts of at least two classes" in found.reason


def test_links_have_warnings_but_no_reason(links: Subject) -> None:
    found = check_table(Table(links, "links", folds=False).job("", "tree", 0))
    assert found.reason is None
