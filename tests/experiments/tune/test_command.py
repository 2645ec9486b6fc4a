"""gtea tune, through the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def words(data: Path, tmp_path: Path) -> list[str]:
    """The words of a quick search."""
    sizes = ("model.d_node=4", "model.d_edge=4", "model.d_mlp=4", "model.d_time=4", "sampling.fanout=2")
    others = ("sampling.max_events=4", "sampling.batch_size=32", "train.epochs=1", "model.num_encoder_layers=1")
    chosen = [word for setting in (*sizes, *others) for word in ("--set", setting)]
    labels = ["--labels", str(data / "labels.csv")]
    return ["tune", str(data / "s"), *labels, *chosen, "--device", "cpu", "--out", str(tmp_path / "t")]


def test_what_it_prints_and_that_train_takes_what_it_found(
    gtea: Run, words: list[str], data: Path, tmp_path: Path
) -> None:
    outcome = gtea(*words, "--trials", 2, "--seed", 5)
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert lines[0] == "2 trials of 9 combinations: 2 finished"
    assert lines[2].split() == ["trial", "validation_log_likelihood", "epochs", "num_layers", "lr"]
    assert len(lines[2:5]) == len([line for line in lines[2:5] if line])
    assert "best settings in" in outcome.out
    assert "test" not in outcome.out.replace(str(tmp_path), "")
    asked = ("--labels", data / "labels.csv", "--config", tmp_path / "t" / "best.toml", "--device", "cpu")
    trained = gtea("train", data / "s", *asked, "--out", tmp_path / "m", "--json")
    assert trained.code == 0, trained.err
    resumed = gtea(*words, "--trials", 3, "--seed", 5, "--resume", "--json")
    result = json.loads(resumed.out)
    assert result["trials"] == 3
    assert result["split"]["left_out"] == json.loads(trained.out)["split"]["left_out"]
    two = [trial for trial in result["top"] if trial["number"] <= 2]
    rows = (Path(json.loads(trained.out)["out"]) / "metrics.jsonl").read_text().splitlines()
    best = max(json.loads(row)["validation_log_likelihood"] for row in rows)
    assert best == max(trial["metric"] for trial in two)
    assert "final" not in result
    for name in ("config", "table", *range(len(result["pictures"]))):
        path = result[name] if isinstance(name, str) else result["pictures"][name]
        assert Path(path).exists()


def test_trees_are_fitted_at_once_and_have_one_metric(gtea: Run, words: list[str], tmp_path: Path) -> None:
    """So they have no epochs to choose from."""
    space = tmp_path / "space.toml"
    space.write_text("[features]\nrecency = [true, false]\n")
    outcome = gtea(*words, "--variant", "tree", "--space", space, "--search", "grid", "--final", "--json")
    assert outcome.code == 0, outcome.err
    result = json.loads(outcome.out)
    assert [len(trial["curve"]) for trial in result["top"]] == [1, 1]
    assert (tmp_path / "t" / "model" / "model.safetensors").exists()


def test_final_trains_the_best_and_judges_it(gtea: Run, words: list[str], tmp_path: Path) -> None:
    outcome = gtea(*words, "--trials", 1, "--final")
    assert outcome.code == 0, outcome.err
    assert f"model in {tmp_path / 't' / 'model'}" in outcome.out
    assert "test macro_f1" in outcome.out


def test_without_matplotlib_it_says_how_to_get_a_picture(
    gtea: Run, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gtea.experiments.drawing.can_draw", lambda: False)
    outcome = gtea(*words, "--trials", 1)
    assert outcome.code == 0, outcome.err
    assert "no figure: Matplotlib is not installed. To fix: pip install 'gtea[plots]'" in outcome.out
    assert not (tmp_path / "t" / "trials.png").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--search", "grid", "--trials", "3"], "--trials: does not apply to --search grid"),
        (["--trials", "0"], "--trials: must be at least 1 (got 0)"),
        (["--space", "none.toml"], "none.toml: no such file. Check --space."),
        (["--graph-until", "3"], "--graph-until: does not apply to --task nodes"),
        (["--task", "links"], "--labels: does not apply to --task links"),
        (["--set", "split.fractions=[0.5, 0.5]"], "fractions"),
    ],
)
def test_what_can_not_be_is_refused_before_anything_is_made(
    gtea: Run, words: list[str], tmp_path: Path, more: list[str], message: str
) -> None:
    outcome = gtea(*words, *more)
    assert outcome.code == 2
    assert message in outcome.err
    assert not (tmp_path / "t").exists()
