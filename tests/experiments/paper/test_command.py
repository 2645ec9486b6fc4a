"""gtea reproduce: what it refuses, what it prints, and data by name, by folder and by a store of one's own."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gtea.cli.option_lists import spread
from gtea.cli.run_lines import duration

Run = Callable[..., Any]
Words = Callable[..., list[str]]
Outcomes = Callable[[Path], dict[str, dict[str, Any]]]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--models", "gtea-lt"], "--models: must be among hybrid, gtea-l, gtea-l+t, gtea-tx, "),
        (["--models", "gtea-lt"], "(got 'gtea-lt'). Did you mean 'gtea-l+t'?"),
        (["--models", "edgebank"], "edgebank: only predicts links"),
        (["--data", "wikipedia"], "--data, --store: give one of them"),
        (["--folds", "0"], "--folds: must be at least 1 (got 0). Try 5."),
        (["--folds", "2", "--protocol", "paper"], "--folds: must be at least 3 with --protocol paper (got 2). Try 5."),
        (["--jobs", "0"], "--jobs: must be at least 1 (got 0). Try 2."),
        (["--seed", "-1"], "train.seed must be at least 0 (got -1)"),
        (["--set", "train.seed=3"], "--set train.seed: is set by --seed. Leave it out."),
        (["--set", "split.kind=folds"], "split.kind: is gone: use --folds for stratified folds (in --set split.kind)."),
        (["--set", "split.protocol=paper"], "--set split.protocol: is set by --protocol. Leave it out."),
        (["--set", "train.lrr=3"], "unknown key 'train.lrr' in --set train.lrr. Did you mean 'train.lr'?"),
        (
            ["--set", "model.encoder=transformer"],
            "model.encoder: must be 'lstm' for gcn (got 'transformer' from the settings)",
        ),
        (["--config", "none.toml"], "none.toml: no such file. Check --config."),
        (["--positive", "frogs"], "'frogs'"),
        (["frogs"], "unexpected extra argument (frogs)"),
        (["--from", "x"], "--from: goes with --data"),
    ],
)
def test_what_can_not_be_is_refused_before_anything_is_made(
    gtea: Run, words: Words, tmp_path: Path, more: list[str], message: str
) -> None:
    outcome = gtea(*words("table1", tmp_path / "out", *more))
    assert outcome.code == 2, outcome.err
    assert message in outcome.err
    assert not (tmp_path / "out").exists()


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user without copies of any data set."""
    monkeypatch.delenv("GTEA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (
            ["--data", "wikipdia"],
            2,
            "--data wikipdia: no such data set or folder. Did you mean 'wikip",
        ),
        (["--data", "x"], 2, "Data sets: wikipedia, reddit, mooc, lastfm, mathoverflow, ethereum_phishing, email_eu"),
        (["--data", "."], 2, "must be a folder written by gtea datasets prepare (it has no dataset.json)"),
        (["--data", "mooc"], 3, "mooc: needs mooc.csv or mooc.csv.gz (found nothing in "),
        (
            ["--data", "mooc"],
            3,
            "Run gtea datasets fetch mooc, or put it into GTEA_DATA/mooc/mooc.csv (GTEA_DATA is not",
        ),
        (["--data", "amlsim", "--from", "no"], 2, "--from no: no such folder"),
        (["--data", "payments", "--labels", "x.csv"], 2, "--labels: goes with --store"),
        (["--data", "payments", "--unknown", "skip"], 2, "--unknown: goes with --store"),
        (["--store", "none"], 4, "none"),
        ([], 2, "--data, --store: give one of them"),
    ],
)
def test_data_that_is_not_there(
    gtea: Run, bare: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(bare)
    outcome = gtea("reproduce", "table1", *more, "--out", bare / "out")
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err
    assert not (bare / "out" / "runs").exists()


def test_a_file_of_another_layout_is_named(gtea: Run, bare: Path) -> None:
    folder = bare / "mine" / "bitcoin_otc"
    folder.mkdir(parents=True)
    with gzip.open(folder / "ratings.csv.gz", "wt") as stream:
        stream.write("from,to,stars,when\na,b,1,2\n")
    (folder / "labels.csv").write_text("account,label\na,fraud\nb,trusted\n")
    outcome = gtea("reproduce", "table1", "--data", "bitcoin_otc", "--from", bare / "mine", "--out", bare / "out")
    assert outcome.code == 3
    assert "bitcoin_otc must have the columns rater, rated, timestamp, rating (got from, to, stars, when" in outcome.err


def test_labels_that_are_not_there(gtea: Run, words: Words, tmp_path: Path) -> None:
    asked = words("table1", tmp_path / "out", "--labels", tmp_path / "none.csv")
    outcome = gtea(*asked)
    assert outcome.code == 3
    assert "none.csv: no such file. Check --labels." in outcome.err


def test_all_data_are_there_before_any_of_them_is_worked_on(gtea: Run, words: Words, data: Path, bare: Path) -> None:
    asked = words("table1", bare / "out", "--models", "tree", "--folds", 1)
    where = asked.index("--store")
    asked[where : where + 4] = ["--data", str(_prepared(data, bare / "here", "amlsim")), "mooc"]
    outcome = gtea(*asked)
    assert outcome.code == 3
    assert "mooc: needs mooc.csv" in outcome.err
    assert not (bare / "out").exists()


def _prepared(data: Path, folder: Path, name: str) -> Path:
    """The tiny store as if gtea datasets prepare had made it of a data set."""
    shutil.copytree(data / "tiny.store", folder / "store")
    shutil.copy(data / "labels.csv", folder / "labels.csv")
    (folder / "dataset.json").write_text(json.dumps({"name": name, "task": "nodes"}))
    return folder


def test_a_prepared_folder_has_its_own_name_and_settings(
    gtea: Run, words: Words, data: Path, tmp_path: Path, outcomes: Outcomes
) -> None:
    folder = _prepared(data, tmp_path / "prepared", "ethereum_phishing")
    asked = words("table1", tmp_path / "out", "--models", "tree", "gtea-he", "--folds", 3, "--protocol", "paper")
    where = asked.index("--store")
    asked[where : where + 4] = ["--data", str(folder)]
    outcome = gtea(*asked)
    assert outcome.code == 0, outcome.err
    runs = outcomes(tmp_path / "out")
    assert {run["config"]["train"]["patience"] for run in runs.values()} == {5}  # of settings.toml
    assert {run["config"]["train"]["epochs"] for run in runs.values()} == {1}  # --set is stronger
    assert "| gtea-he |" in outcome.out
    assert "| 0.9673 |" in outcome.out  # the paper's
    page = (tmp_path / "out" / "ethereum_phishing-paper.md").read_text()
    assert "The paper's results are for its data set Phish-S" in page
    assert "gtea reproduce table1 --data ethereum_phishing --protocol paper --folds 3 --models tree gtea-he" in page


def test_a_config_may_hold_all_settings_if_the_model_is_the_same(
    gtea: Run, words: Words, tmp_path: Path, outcomes: Outcomes
) -> None:
    """As best.toml of gtea tune does; its seed and its split are not those of the experiment."""
    config = tmp_path / "best.toml"
    config.write_text('[model]\nencoder = "statistics"\ntime_encoding = false\n[train]\nseed = 9\nlr = 0.5\n')
    asked = ("--config", config, "--folds", 1, "--seed", 2)
    outcome = gtea(*words("table1", tmp_path / "out", *asked, "--models", "gtea-he"))
    assert outcome.code == 0, outcome.err
    (run,) = outcomes(tmp_path / "out").values()
    assert (run["seed"], run["config"]["train"]["seed"], run["config"]["train"]["lr"]) == (2, 2, 0.01)
    refused = gtea(*words("table1", tmp_path / "out", *asked, "--models", "gtea-l"))
    assert refused.code == 2
    assert "model.encoder: must be 'lstm' for gtea-l (got 'statistics' from the settings)" in refused.err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda kept: "", "can't be read"),
        (lambda kept: "[]", "can't be read"),
        (
            lambda kept: kept.replace('"patience": 15', '"patience": 14'),
            "was made with train.patience = 14 (now it is 15",
        ),
    ],
)
def test_an_outcome_that_was_damaged_or_made_otherwise_is_named(
    gtea: Run, words: Words, tmp_path: Path, change: Callable[[str], str], message: str
) -> None:
    asked = words("table1", tmp_path, "--models", "tree", "--folds", 1)
    assert gtea(*asked).code == 0
    (path,) = (tmp_path / "runs" / "tiny-temporal").iterdir()
    path.write_text(change(path.read_text()))
    outcome = gtea(*asked)
    assert outcome.code == 5
    assert message in outcome.err
    assert "Delete" in outcome.err
    path.unlink()
    assert gtea(*asked).code == 0


def test_lists_may_be_written_with_spaces_or_commas_and_not_be_empty(gtea: Run) -> None:
    refused = gtea("reproduce", "table1", "--data", "payments", "--models")
    assert refused.code == 2
    assert "'--models' requires an argument" in refused.err
    assert spread(["--models", "a", "b,c", "--folds", "5", "x", "--data", "d"]) == [
        *("--models", "a", "--models", "b", "--models", "c", "--folds", "5", "x", "--data", "d"),
    ]


def test_durations_for_people() -> None:
    assert [duration(seconds) for seconds in (5.2, 89, 600, 9000)] == ["5 s", "89 s", "10 min", "2.5 h"]


def test_a_misspelt_model_is_told_before_data_are_looked_for(
    gtea: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GTEA_DATA", str(tmp_path / "nothing"))
    refused = gtea("reproduce", "table1", "--data", "bitcoin_otc", "--models", "gcnn", "--out", tmp_path / "o")
    assert refused.code == 2
    assert "Did you mean 'gcn'?" in refused.err
