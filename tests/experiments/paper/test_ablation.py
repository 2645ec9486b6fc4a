"""Ablations: what is held against what, and gtea reproduce ablation through the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gtea.errors import UsageError
from gtea.experiments.paper.ablation import AXES, comparisons

Run = Callable[..., Any]
Words = Callable[..., list[str]]
Outcomes = Callable[[Path], dict[str, dict[str, Any]]]


def test_without_a_word_it_is_what_the_paper_compares() -> None:
    found = comparisons((), ())
    assert list(dict.fromkeys(each.axis for each in found)) == list(AXES)
    shapes = {axis: [(each.name, each.values) for each in found if each.axis == axis] for axis in AXES}
    three = ("sparsemax", "softmax", "entmax15")
    assert shapes["attention"] == [(name, three) for name in ("gtea-l", "gtea-l+t", "gtea-tx", "gtea-tx+t")]
    assert shapes["time"] == [("gtea-l", ("without", "with")), ("gtea-tx", ("without", "with"))]
    assert shapes["edges"] == [("GTEA", ("hand-made", *["learnt"] * 4))]
    assert shapes["max_events"] == [("gtea-l+t", ("4", "16", "64", "256"))]
    assert shapes["fanout"] == [("gtea-l+t", ("5", "10", "25"))]
    points = [point for each in found for point in each.points]
    assert {point.model for point in points} == {"gtea-he", "gtea-l", "gtea-l+t", "gtea-tx", "gtea-tx+t"}
    assert points[1].settings == {"model.attention": "softmax"}


def test_named_models_are_the_ones_that_things_are_changed_in() -> None:
    found = comparisons(("fanout", "time", "edges"), ("gtea-tx", "gtea-he"))
    assert [(each.axis, each.name, [point.model for point in each.points]) for each in found] == [
        ("time", "gtea-tx", ["gtea-tx", "gtea-tx+t"]),
        ("edges", "GTEA", ["gtea-he", "gtea-tx"]),
        ("fanout", "gtea-tx", ["gtea-tx"] * 3),
        ("fanout", "gtea-he", ["gtea-he"] * 3),
    ]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ((("atention",), ()), r"--axes: must be among attention, time, .*got 'atention'"),
        (((), ("gcn",)), r"--models: must be GTEA variants here .got 'gcn'.\. Try 'gtea-l\+t'"),
        (((), ("gtea-xl",)), r"--models: must be among .*got 'gtea-xl'"),
        (((), (), ("sampling.fanout=3",)), "--set sampling.fanout: is what the axis fanout varies"),
    ],
)
def test_what_can_not_be_compared(asked: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        comparisons(*asked)


def test_points_of_table_1_are_its_runs_and_differences_go_by_pairs(
    gtea: Run, words: Words, tmp_path: Path, outcomes: Outcomes
) -> None:
    more = ("--folds", 3, "--protocol", "paper", "--set", "train.epochs=2")
    assert gtea(*words("table1", tmp_path, "--models", "gtea-l", *more)).code == 0
    first = set(outcomes(tmp_path))
    outcome = gtea(*words("ablation", tmp_path, "--models", "gtea-l", "--axes", "attention", "edges", *more, "--json"))
    assert outcome.code == 0, outcome.err
    result = json.loads(outcome.out)
    runs = outcomes(tmp_path)
    assert len(first) == 3
    assert len(runs) == 12  # softmax, entmax15 and GTEA_HE are new
    attention, edges = result["comparisons"]
    assert [point["value"] for point in attention["points"]] == ["sparsemax", "softmax", "entmax15"]
    assert set(attention["points"][0]["files"]) == set(edges["points"][1]["files"]) == first
    ours, theirs = ([runs[stem]["test"]["macro_f1"] for stem in point["files"]] for point in edges["points"][::-1])
    told = edges["points"][1]["macro_f1_against_reference"]
    assert told["mean"] == pytest.approx(np.mean(np.subtract(ours, theirs)))
    assert told["std"] == pytest.approx(np.std(np.subtract(ours, theirs), ddof=1))
    page = (tmp_path / "tiny-paper-ablation.md").read_text()
    assert f"{told['mean']:+.4f} ± {told['std']:.4f}" in page
    assert "## attention: attention function over neighbours" in page
    assert "## fanout" not in page
    assert "--axes attention edges --models gtea-l" in page


def test_the_figures_name_models_and_values(gtea: Run, words: Words, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    asked = ("--models", "gtea-he", "gtea-tx", "--axes", "attention", "time", "edges", "--folds", 1)
    assert gtea(*words("ablation", tmp_path, *asked)).code == 0
    bars = (tmp_path / "tiny-temporal-ablation-attention.svg").read_text()
    for word in ("gtea-he", "gtea-tx", "sparsemax", "softmax", "entmax15", "accuracy", "macro-F1"):
        assert f"<!-- {word} -->" in bars
    others = (tmp_path / "tiny-temporal-ablation-others.svg").read_text()
    for word in ("without", "with", "gtea-he", "time", "edges"):
        assert f"<!-- {word} -->" in others
