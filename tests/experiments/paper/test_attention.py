"""How attention is distributed: sums against plain loops, and gtea reproduce attention through the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gtea.errors import DataError
from gtea.experiments.paper.attention import EDGES, summarise
from gtea.scoring.attention_weights import AttentionWeights

Run = Callable[..., Any]
Words = Callable[..., list[str]]
Outcomes = Callable[[Path], dict[str, dict[str, Any]]]


def test_weights_summed_up_by_hand() -> None:
    """Four nodes: three neighbours, none, one, two."""
    alpha = np.array([0.75, 0.25, 0.0, 1.0, 0.96, 0.04])
    attention = AttentionWeights(np.arange(4), np.array([0, 3, 3, 4, 6]), np.arange(6), alpha)
    found = summarise(attention, np.ones(4, dtype=bool))
    assert (found.accounts, found.neighbours) == (3, 6)
    assert found.zero == pytest.approx(1 / 6)
    assert found.zero_per_account == pytest.approx((1 / 3 + 0) / 2)
    assert found.small == pytest.approx(2 / 6)
    by_hand = [1 / (0.75**2 + 0.25**2), 1.0, 1 / (0.96**2 + 0.04**2)]
    assert found.effective == pytest.approx(np.mean(by_hand))
    assert sum(found.histogram) == pytest.approx(5 / 6)
    assert found.histogram[-1] == pytest.approx(3 / 6)  # 0.75, 1 and 0.96
    assert len(found.histogram) == len(EDGES) - 1
    some = summarise(attention, np.array([False, True, True, False]))
    assert (some.accounts, some.neighbours, some.zero, some.zero_per_account) == (1, 1, 0.0, 0.0)
    with pytest.raises(DataError, match="no account of the test part has a neighbour"):
        summarise(attention, np.array([False, True, False, False]))


def test_tiny_weights_are_in_the_first_bin_and_rounded_ones_in_the_last() -> None:
    attention = AttentionWeights(np.arange(1), np.array([0, 2]), np.arange(2), np.array([1e-9, 1.0000001]))
    found = summarise(attention, np.ones(1, dtype=bool))
    assert (found.histogram[0], found.histogram[-1]) == (0.5, 0.5)


def test_of_accounts_by_class(gtea: Run, words: Words, tmp_path: Path, outcomes: Outcomes) -> None:
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    more = ("--models", "gtea-he", "--folds", 3, "--protocol", "paper")
    outcome = gtea(*words("attention", tmp_path, *more))
    assert outcome.code == 0, outcome.err
    assert len(outcomes(tmp_path)) == 6
    found = json.loads((tmp_path / "tiny-paper-attention.json").read_text())
    sparse, dense = found["rows"]
    assert (sparse["attention"], dense["attention"]) == ("sparsemax", "softmax")
    for run in (*sparse["weights"], *dense["weights"]):
        assert list(run) == ["all", "illicit", "normal"]
        assert run["all"]["neighbours"] == run["illicit"]["neighbours"] + run["normal"]["neighbours"]
    assert [run["all"]["neighbours"] for run in sparse["weights"]] == [
        run["all"]["neighbours"] for run in dense["weights"]
    ]
    assert all(run["all"]["zero"] == 0 for run in dense["weights"])
    share = 100 * np.mean([run["all"]["zero"] for run in sparse["weights"]])
    assert share > 0
    page = (tmp_path / "tiny-paper-attention.md").read_text()
    assert f"{share:.1f} ±" in page
    assert "| gtea-he | sparsemax | illicit (13) |" in page
    text = (tmp_path / "tiny-paper-attention.svg").read_text()
    for word in ("gtea-he, all accounts", "gtea-he, illicit", "sparsemax", "softmax"):
        assert f"<!-- {word} -->" in text
    # What was measured is kept; a model that was deleted is trained again, to the same weights.
    (tmp_path / "attention" / "tiny-paper" / f"{sparse['files'][0]}.json").unlink()
    shutil.rmtree(tmp_path / "models" / "tiny-paper" / sparse["files"][0])
    again = gtea(*words("attention", tmp_path, *more, "--json"))
    assert again.code == 0, again.err
    assert json.loads(again.out)["rows"][0]["weights"] == sparse["weights"]


def test_of_the_sources_of_links(gtea: Run, words: Words, tmp_path: Path) -> None:
    outcome = gtea(*words("attention", tmp_path, "--models", "gtea-he", "--folds", 1, "--json", task="links"))
    assert outcome.code == 0, outcome.err
    (run,) = json.loads(outcome.out)["rows"][0]["weights"]
    assert list(run) == ["all"]
    assert 0 < run["all"]["zero"] < 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--models", "gcn"], "--models: must be GTEA variants here (got 'gcn')"),
        (["--set", "model.attention=softmax"], "--set model.attention: is what this experiment varies"),
    ],
)
def test_what_can_not_be_asked(gtea: Run, words: Words, tmp_path: Path, more: list[str], message: str) -> None:
    outcome = gtea(*words("attention", tmp_path, *more))
    assert outcome.code == 2
    assert message in outcome.err
