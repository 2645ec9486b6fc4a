"""The picture: a panel per data set, a curve per model, and points in the colour of their verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gtea.experiments.few_labels.learning_curves import CurvesResult

pytest.importorskip("matplotlib")


def test_a_panel_per_data_set_and_a_curve_per_model(result: CurvesResult, tmp_path: Path) -> None:
    from gtea.experiments.drawing import BLUE, GREY, RED
    from gtea.experiments.few_labels.few_labels_figure import draw_few_labels

    other = tuple(replace(size, data="other") for size in result.sizes)
    both = CurvesResult(3, (*result.sizes, *other))
    png, svg = draw_few_labels(tmp_path / "few-labels", both)
    assert png.read_bytes().startswith(b"\x89PNG")
    text = svg.read_text()
    for label in ("tiny", "other", "hybrid", "tree", "strong-tree", "hybrid behind", "labelled accounts per class"):
        assert f"<!-- {label} -->" in text
    # Each colour has one point in the legend. With 4 labels the default is ahead, with 8 behind, in both panels.
    points = {color: text.count(f"fill: {color}; stroke: {BLUE}") for color in (BLUE, GREY, RED)}
    assert points[RED] - points[GREY] == 2 * points[GREY] > 0
    assert draw_few_labels(tmp_path / "again", both)[1].read_bytes() == svg.read_bytes()


def test_without_results_there_is_nothing_to_draw(result: CurvesResult, tmp_path: Path) -> None:
    from gtea.experiments.few_labels.few_labels_figure import draw_few_labels

    nothing = CurvesResult(3, tuple(replace(size, standing=None) for size in result.sizes))
    assert draw_few_labels(tmp_path / "few-labels", nothing) == []
    assert not (tmp_path / "few-labels.png").exists()
