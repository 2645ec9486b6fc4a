"""train, evaluate and score through the command line."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def trained(gtea: Run, payments: Any, tmp_path: Path, quick: tuple[str, ...]) -> Path:
    model = tmp_path / "model"
    outcome = gtea("train", payments.store.path, "--labels", payments.labels, *quick, "--out", model)
    assert outcome.code == 0, outcome.err
    assert "macro-F1 " in outcome.out
    return model


def test_train_evaluate_score(gtea: Run, payments: Any, trained: Path, tmp_path: Path) -> None:
    evaluated = json.loads(gtea("evaluate", trained, payments.store.path, "--labels", payments.labels, "--json").out)
    assert evaluated["accounts"] == 200
    assert set(evaluated["metrics"]) >= {"accuracy", "macro_f1", "average_precision", "prevalence", "roc_auc"}
    out = tmp_path / "scores.csv"
    scored = gtea("score", trained, payments.store.path, "--out", out)
    assert scored.code == 0, scored.err
    with out.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["account", "score", "rank", "p_illicit", "p_normal", "alert", "active", "events"]
    threshold = json.loads((trained / "thresholds.json").read_text())["threshold"]["value"]
    alerts = [row["account"] for row in rows if row["alert"] == "true"]
    assert alerts == [row["account"] for row in rows if float(row["score"]) >= threshold]
    assert f"alerts: {len(alerts):,} with a score of {threshold:.4f} or more" in scored.out
    assert [int(row["rank"]) for row in rows] == list(range(1, 201))
    scores = [float(row["score"]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert rows[0]["account"] in scored.out


def test_a_score_does_not_depend_on_who_else_is_asked(gtea: Run, payments: Any, trained: Path, tmp_path: Path) -> None:
    everyone = json.loads(gtea("score", trained, payments.store.path, "--out", tmp_path / "a.parquet", "--json").out)
    first = everyone["top"][0]
    (tmp_path / "one.csv").write_text(f"account\n{first['account']}\n")
    alone = gtea(
        "score", trained, payments.store.path, "--out", tmp_path / "b.csv", "--accounts", tmp_path / "one.csv", "--json"
    )
    assert json.loads(alone.out)["top"][0]["score"] == pytest.approx(first["score"], abs=1e-6)


def test_warnings_about_the_split_are_printed_once(gtea: Run, payments: Any, tmp_path: Path) -> None:
    words = ("train", payments.store.path, "--labels", payments.labels, "--variant", "tree")
    result = json.loads(gtea(*words, "--out", tmp_path / "a", "--json").out)
    expected = [f"warning: {warning['text']}. {warning['remedy']}" for warning in result["warnings"]]
    assert expected
    outcome = gtea(*words, "--out", tmp_path / "b")
    assert outcome.err.splitlines() == expected
    assert "warning:" not in outcome.out
    folds = gtea(*words, "--folds", "3", "--out", tmp_path / "c")
    assert [line.split(":")[0] for line in folds.err.splitlines()] == ["warning"]


@pytest.mark.slow
def test_folds_are_trained_and_summed_up(gtea: Run, payments: Any, tmp_path: Path, quick: tuple[str, ...]) -> None:
    words = (
        "train",
        payments.store.path,
        "--labels",
        payments.labels,
        *quick,
        "--folds",
        "3",
        "--set",
        "train.epochs=1",
    )
    result = json.loads(gtea(*words, "--out", tmp_path / "f", "--json").out)
    assert result["test"]["accuracy"]["std"] >= 0
    assert len(result["each"]) == 3
    assert (tmp_path / "f" / "fold-3" / "model.safetensors").exists()
    again = gtea(*words, "--out", tmp_path / "f")
    assert (again.code, "exists. Continue with --resume, or choose another --out" in again.err) == (2, True)
    assert json.loads(gtea(*words, "--resume", tmp_path / "f", "--json").out)["each"] == result["each"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "trian.lr=1"], "unknown key 'trian.lr' in --set trian.lr. Did you mean 'train.lr'?"),
        (["--set", "train.lr"], "must have the form section.key=value"),
        (["--set", "train.lr=-1"], "train.lr must be above 0"),
        (["--set", "train.epochs=many"], "train.epochs must be of type int (got 'many')"),
        (["--set", "sampling.strategy=best"], "sampling.strategy must be one of 'uniform', 'recent' (got 'best')"),
        (["--variant", "gtea-lt"], "variant must be one of"),
        (["--config", "nowhere.toml"], "no such file"),
        (["--as-of", "1971-01-01"], ""),
        (["--positive", "nobody"], "nobody"),
        (["--folds", "500"], ""),
    ],
)
def test_requests_that_can_not_be(gtea: Run, payments: Any, tmp_path: Path, words: list[str], message: str) -> None:
    outcome = gtea("train", payments.store.path, "--labels", payments.labels, *words, "--out", tmp_path / "m")
    assert outcome.code in (2, 3)
    assert message in outcome.err
    assert "bug" not in outcome.err
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("account,label\nnobody,illicit\nA0000001,normal\n", "nobody"),
        ("account,label\nA0000001,normal\nA0000002,normal\n", "class"),
        ("account,label\nA0000001,normal\nA0000001,illicit\n", "A0000001"),
        ("", ""),
    ],
)
def test_labels_that_can_not_be(gtea: Run, payments: Any, tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "l.csv").write_text(content)
    outcome = gtea("train", payments.store.path, "--labels", tmp_path / "l.csv", "--out", tmp_path / "m")
    assert outcome.code == 3
    assert message in outcome.err
    assert "bug" not in outcome.err


def test_models_and_stores_that_are_none(gtea: Run, payments: Any, tmp_path: Path) -> None:
    outcome = gtea("score", tmp_path / "nowhere", payments.store.path, "--out", tmp_path / "s.csv")
    assert (outcome.code, "no such model" in outcome.err) == (5, True)
    outcome = gtea("score", tmp_path, payments.store.path, "--out", tmp_path / "s.xlsx")
    assert (outcome.code, "must end in .parquet or .csv" in outcome.err) == (2, True)
    outcome = gtea("train", payments.store.path, "--labels", payments.labels)
    assert "--out, --resume: give one of them" in outcome.err
