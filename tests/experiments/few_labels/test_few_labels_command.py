"""gtea reproduce few-labels: what it refuses before anything is trained."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--data", "world:tiny", "--draws", "1"], 2, "--draws: must be at least 2 (got 1). Try 10."),
        (["--data", "world:tiny", "--sizes", "20", "2"], 2, "--sizes: must be at least 4 (got 2). Try 10 30 100 300."),
        (["--data", "world:tiny", "--sizes", "10", "many"], 2, "'many' is not a valid integer"),
        (["--data", "world:tiny", "--sizes", "10", "85"], 2, "--sizes 85: must leave at least 10 accounts of either"),
        (["--data", "world:tiny", "--sizes", "10", "--jobs", "0"], 2, "--jobs: must be at least 1 (got 0). Try 2."),
        (["--data", "world:tinny"], 2, "--data world:tinny: no such data set or folder. Did you mean 'world:tiny'?"),
        ([], 3, "ethereum_phishing: needs transactions.parquet"),
    ],
)
def test_what_can_not_be_is_refused(
    gtea: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], code: int, message: str
) -> None:
    monkeypatch.delenv("GTEA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    outcome = gtea("reproduce", "few-labels", *words, "--out", tmp_path / "out")
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err
    assert not (tmp_path / "out" / "models").exists()
