"""gtea reproduce table1, through the command line: runs, table, figure, and that nothing is done twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Run = Callable[..., Any]
Words = Callable[..., list[str]]
Outcomes = Callable[[Path], dict[str, dict[str, Any]]]
FIGURES = {"accuracy", "macro_f1", "average_precision", "precision_at_positives", "recall_at_1pct_fpr"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("table") / "out"


@pytest.fixture
def three(gtea: Run, words: Words, made: Path) -> Any:
    """Three models, three folds; made once, then found."""
    outcome = gtea(*words("table1", made, "--models", "tree", "gtea-he", "gcn", "--folds", 3, "--protocol", "paper"))
    assert outcome.code == 0, outcome.err
    return outcome


def test_one_file_a_run_and_a_table_of_their_means(three: Any, made: Path, outcomes: Outcomes) -> None:
    runs = outcomes(made)
    assert len(runs) == 9
    table = json.loads((made / "tiny-paper.json").read_text())
    assert [row["model"] for row in table["rows"]] == ["gcn", "gtea-he", "tree"]
    for row in table["rows"]:
        each = [run["test"] for run in runs.values() if run["model"] == row["model"]]
        assert set(each[0]) >= FIGURES
        for name, spread in row["test"].items():
            values = [test[name] for test in each]
            assert spread["mean"] == pytest.approx(np.mean(values))
            assert spread["std"] == pytest.approx(np.std(values, ddof=1))
    page = (made / "tiny-paper.md").read_text()
    for row in table["rows"]:
        f1 = row["test"]["macro_f1"]
        assert f"{f1['mean']:.4f} ± {f1['std']:.4f}" in page
    best = max(row["test"]["accuracy"]["mean"] for row in table["rows"])
    assert f"**{best:.4f} ±" in page
    assert "3 stratified folds" in page
    assert "`train.epochs=1`" in page
    assert page.count("\n| ") == 5
    assert "| gcn |" in three.out


def test_a_run_says_all_there_is_to_say(three: Any, made: Path, outcomes: Outcomes) -> None:
    runs = outcomes(made)
    stem, run = next((stem, run) for stem, run in runs.items() if stem.startswith("gtea-he-fold1-seed0-"))
    assert (run["data"], run["protocol"], run["fold"], run["seed"]) == ("tiny", "paper", 1, 0)
    assert run["config"]["split"] == {"protocol": "temporal", "fractions": [0.6, 0.2, 0.2], "train_windows": 6}
    assert run["config"]["model"]["encoder"] == "statistics"
    assert run["settings"]["train.epochs"] == 1
    assert not any(name.startswith("split.") for name in run["settings"])
    assert run["split"]["split"] == "fold 2 of 3"
    assert (run["state"], run["epochs"], run["interrupted"]) == ("finished", 1, False)
    assert set(run["validation"]) == set(run["test"])
    assert set(run["versions"]) >= {"gtea", "torch"}
    assert (made / "models" / "tiny-paper" / stem / "manifest.json").exists()


def test_nothing_is_done_twice(three: Any, gtea: Run, words: Words, made: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (made / "runs").glob("*/*.json")}
    asked = words("table1", made, "--models", "gcn,tree", "gtea-he", "--folds", 3, "--protocol", "paper")
    again = gtea(*asked)
    assert again.err == ""
    assert again.out == three.out
    assert {path: path.stat().st_mtime_ns for path in (made / "runs").glob("*/*.json")} == before


def test_the_figure_names_the_models(three: Any, made: Path) -> None:
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    text = (made / "tiny-paper.svg").read_text()
    for word in ("gcn", "gtea-he", "tree", "accuracy", "macro-F1", "average precision", "tiny, protocol paper"):
        assert f"<!-- {word} -->" in text
    assert (made / "tiny-paper.png").read_bytes().startswith(b"\x89PNG")


def test_other_settings_are_kept_apart(
    three: Any, gtea: Run, words: Words, made: Path, outcomes: Outcomes, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = outcomes(made)
    asked = ("--models", "gcn", "--folds", 3, "--protocol", "paper", "--results", made / "elsewhere")
    changed = json.loads(gtea(*words("table1", made, *asked, "--set", "train.lr=0.02", "--json")).out)
    after = outcomes(made)
    assert len(after) == 12
    assert {stem: after[stem] for stem in before} == before
    assert set(changed["rows"][0]["files"]) == set(after) - set(before)
    assert (made / "elsewhere" / "tiny-paper.md").exists()
    monkeypatch.setenv("GTEA_CHECKPOINT_SECONDS", "7")
    same = json.loads(gtea(*words("table1", made, *asked, "--json")).out)
    assert set(same["rows"][0]["files"]) <= set(before)
    assert len(outcomes(made)) == 12


def test_it_is_what_gtea_train_does(gtea: Run, words: Words, data: Path, tmp_path: Path, outcomes: Outcomes) -> None:
    asked = words("table1", tmp_path / "r", "--models", "gtea-he", "--folds", 3, "--protocol", "paper")
    assert gtea(*asked).code == 0
    settings = [word for i, word in enumerate(asked) if word == "--set" or asked[i - 1] == "--set"]
    trained = gtea(
        *("train", data / "tiny.store", "--labels", data / "labels.csv", "--variant", "gtea-he", *settings),
        *("--folds", 3, "--out", tmp_path / "m", "--device", "cpu", "--json"),
    )
    assert [run["test"] for run in outcomes(tmp_path / "r").values()] == json.loads(trained.out)["each"]


def test_by_time_runs_differ_by_their_seeds(gtea: Run, words: Words, tmp_path: Path, outcomes: Outcomes) -> None:
    outcome = gtea(*words("table1", tmp_path, "--models", "gtea-he", "tree", "--folds", 2, "--seed", 3))
    assert outcome.code == 0, outcome.err
    runs = outcomes(tmp_path)
    assert sorted((run["model"], run["fold"], run["seed"]) for run in runs.values()) == [
        *(("gtea-he", None, 3), ("gtea-he", None, 4), ("tree", None, 3), ("tree", None, 4)),
    ]
    assert {json.dumps(run["split"]) for run in runs.values()} == {json.dumps(next(iter(runs.values()))["split"])}
    page = (tmp_path / "tiny-temporal.md").read_text()
    assert "over seeds 3 to 4. All runs use the same temporal split" in page
    # One more run of each: those that are there are kept.
    more = gtea(*words("table1", tmp_path, "--models", "gtea-he", "tree", "--folds", 3, "--seed", 3))
    assert [line.split(":")[0] for line in more.err.splitlines()] == [
        *("[5/6] tiny gtea-he, seed 5", "[6/6] tiny tree, seed 5"),
    ]


@pytest.mark.parametrize("protocol", ["paper", "temporal"])
def test_links(gtea: Run, words: Words, tmp_path: Path, protocol: str, outcomes: Outcomes) -> None:
    asked = ("--models", "graphsage", "tree", "edgebank", "--folds", 1, "--protocol", protocol)
    outcome = gtea(*words("table1", tmp_path, *asked, task="links"))
    assert outcome.code == 0, outcome.err
    runs = list(outcomes(tmp_path).values())
    assert {run["model"] for run in runs} == {"graphsage", "tree", "edgebank"}
    assert all(run["split"]["split"] == f"links, {protocol}" for run in runs)
    assert all(set(run["test"]) >= FIGURES for run in runs)
    cuts = {run["split"]["test"]["sees_graph_before"] for run in runs}
    assert (cuts == {run["split"]["graph_until"] for run in runs}) == (protocol == "paper")
    page = (tmp_path / f"tiny-{protocol}.md").read_text()
    assert "one negative per positive, drawn anew for each seed" in page
    sees = "the end of the graph" if protocol == "paper" else "its own start"
    assert f"the last 20 % for testing. Each window sees the graph as of {sees}." in page


def test_a_loss_that_is_no_number_fails_its_row_only(
    gtea: Run, words: Words, tmp_path: Path, outcomes: Outcomes
) -> None:
    asked = words("table1", tmp_path, "--models", "gtea-l+t", "tree", "--folds", 1, "--set", "train.weight_decay=1e38")
    outcome = gtea(*asked)
    assert outcome.code == 0, outcome.err
    states = {run["model"]: run["state"] for run in outcomes(tmp_path).values()}
    assert states == {"gtea-l+t": "failed", "tree": "finished"}
    page = (tmp_path / "tiny-temporal.md").read_text()
    assert "- gtea-l+t, seed 0: failed. training: the loss is nan" in page
    assert "| 0, 1 failed |" in page
    assert "failed: training: the loss is nan" in outcome.err
    assert [path.name.split("-")[0] for path in (tmp_path / "models" / "tiny-temporal").iterdir()] == ["tree"]


def test_without_matplotlib_it_says_how_to_get_a_picture(
    gtea: Run, words: Words, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gtea.experiments.drawing.can_draw", lambda: False)
    outcome = gtea(*words("table1", tmp_path, "--models", "tree", "--folds", 1))
    assert "no figure: Matplotlib is not installed. To fix: pip install 'gtea[plots]'" in outcome.out
    assert not list(tmp_path.glob("*.png"))
