"""gtea reproduce defaults: what it refuses before anything is trained."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--quick", "--data", "world:own"], 2, "--quick: has its own tables and one seed. Leave out --data and --see"),
        (["--quick", "--seeds", "3"], 2, "--quick: has its own tables and one seed"),
        (["--data", "world:tiny", "--seeds", "0"], 2, "--seeds: must be at least 1 (got 0). Try 3."),
        (["--data", "world:tiny", "--jobs", "0"], 2, "--jobs: must be at least 1 (got 0). Try 2."),
        (["--data", "world:tinny"], 2, "--data world:tinny: no such data set or folder. Did you mean 'world:tiny'?"),
        (["--data", "mooc:links"], 3, "mooc: needs mooc.csv or mooc.csv.gz (found nothing in "),
    ],
)
def test_what_can_not_be_is_refused(
    gtea: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], code: int, message: str
) -> None:
    monkeypatch.delenv("GTEA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    outcome = gtea("reproduce", "defaults", *words, "--out", tmp_path / "out")
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err
    assert not (tmp_path / "out" / "models").exists()
