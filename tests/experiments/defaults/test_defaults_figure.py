"""The picture: a row per table under the title of its group, in the colour of its verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gtea.experiments.defaults.suite import SuiteResult

pytest.importorskip("matplotlib")


def test_every_table_is_a_row(result: SuiteResult, tmp_path: Path) -> None:
    from gtea.experiments.defaults.defaults_figure import draw_defaults
    from gtea.experiments.drawing import BLUE, RED

    png, svg = draw_defaults(tmp_path / "defaults", result)
    assert png.read_bytes().startswith(b"\x89PNG")
    text = svg.read_text()
    for label in (
        "Accounts by time",
        "tiny",
        "Accounts by folds",
        "tiny:folds",
        "difference in log-likelihood",
    ):
        assert f"<!-- {label} -->" in text
    assert "Synthetic worlds" not in text
    assert "accuracy" not in text
    assert text.count(f"stroke: {BLUE}") > 1
    assert text.count(f"stroke: {RED}") > 1
    assert draw_defaults(tmp_path / "again", result)[1].read_bytes() == svg.read_bytes()


def test_without_results_there_is_nothing_to_draw(result: SuiteResult, tmp_path: Path) -> None:
    from gtea.experiments.defaults.defaults_figure import draw_defaults

    nothing = SuiteResult((0,), tuple(replace(found, standing=None) for found in result.tables))
    assert draw_defaults(tmp_path / "defaults", nothing) == []
    assert not (tmp_path / "defaults.png").exists()
