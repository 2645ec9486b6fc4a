"""Trials on disk and in a table."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from gtea.errors import ModelError
from gtea.experiments.tune.trials import Trial, ranked, read_trials, save_trial, write_table

TRIALS = [
    Trial(1, {"train.lr": 0.1, "model.attention": "softmax"}, "failed", [0.9], 1.0, "training: the loss is nan"),
    Trial(2, {"train.lr": 0.01, "model.attention": "softmax"}, "finished", [0.1, 0.7, 0.7], 1.0),
    Trial(3, {"train.lr": 1e-05, "model.attention": "sparsemax"}, "pruned", [0.8], 1.0),
    Trial(4, {"train.lr": 0.02, "model.attention": "softmax"}, "finished", [0.7], 1.0),
]


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    for trial in TRIALS:
        save_trial(tmp_path, trial)
    assert read_trials(tmp_path) == TRIALS
    assert read_trials(tmp_path / "elsewhere") == []


@pytest.mark.parametrize("content", [b"", b"[]", b'{"number": 1}', b"\xff"])
def test_a_damaged_trial_is_named(tmp_path: Path, content: bytes) -> None:
    save_trial(tmp_path, TRIALS[0])
    (tmp_path / "trials" / "0001.json").write_bytes(content)
    with pytest.raises(ModelError, match=r"0001\.json: can't be read .* Delete it and all later ones"):
        read_trials(tmp_path)


def test_the_earlier_of_equals_is_better_and_only_finished_ones_count() -> None:
    assert [trial.number for trial in ranked(TRIALS)] == [2, 4]
    assert (TRIALS[1].metric, TRIALS[1].best_epoch) == (0.7, 1)
    assert (TRIALS[0].metric, TRIALS[0].best_epoch) == (None, None)


def test_the_table_has_a_row_for_each(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv", TRIALS, "macro_f1")
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert [row["validation_macro_f1"] for row in rows] == ["", "0.7", "0.8", "0.7"]
    assert [row["state"] for row in rows] == ["failed", "finished", "pruned", "finished"]
    assert [float(row["train.lr"]) for row in rows] == [0.1, 0.01, 1e-05, 0.02]
    assert rows[0]["reason"] == "training: the loss is nan"
