"""What plain rivals reach on real data: the marks that a model of histories has to beat."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def wikipedia(gtea: Run, data_folder: Path, tmp_path: Path) -> Path:
    words = ("ingest", data_folder / "wikipedia" / "wikipedia.csv.gz", "--format", "jodie", "--out", tmp_path / "s")
    assert gtea(*words).code == 0
    return tmp_path / "s"


def evaluated(gtea: Run, store: Path, out: Path, *words: object) -> dict[str, float]:
    outcome = gtea("train", store, *words, "--out", out, "--json")
    assert outcome.code == 0, outcome.err
    figures: dict[str, float] = json.loads(outcome.out)["test"]
    return figures


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "seen", "tree"), [("paper", 0.673, 0.74), ("temporal", 0.751, 0.80)])
def test_links_of_wikipedia(
    gtea: Run, wikipedia: Path, tmp_path: Path, protocol: str, seen: float, tree: float
) -> None:
    words = ("--task", "links", "--set", f"split.protocol={protocol}", "--variant")
    assert evaluated(gtea, wikipedia, tmp_path / "m", *words, "edgebank")["accuracy"] == pytest.approx(seen, abs=5e-4)
    assert evaluated(gtea, wikipedia, tmp_path / "n", *words, "tree")["accuracy"] > tree


@pytest.mark.slow
def test_a_tree_finds_phishing_accounts_of_a_later_time(gtea: Run, data_folder: Path, tmp_path: Path) -> None:
    folder = data_folder / "ethereum_phishing"
    columns = ("--src", "from", "--dst", "to", "--time", "timestamp", "--features", "value_eth,has_call_data")
    assert gtea("ingest", folder / "transactions.parquet", *columns, "--out", tmp_path / "s").code == 0
    words = ("--labels", folder / "labels.csv", "--variant", "tree")
    assert evaluated(gtea, tmp_path / "s", tmp_path / "m", *words)["accuracy"] > 0.92
