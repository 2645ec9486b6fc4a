"""The picture can be drawn of any search with a finished trial."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gtea.experiments.tune.space import Space
from gtea.experiments.tune.trials import Trial

pytest.importorskip("matplotlib", reason="Matplotlib is not installed")

TEXT = "[train]\nlr = { low = 1e-4, high = 1e-1, log = true }\n[model]\nattention = ['softmax', 'sparsemax']\n"


@pytest.mark.parametrize("states", [["finished"], ["failed", "finished", "pruned", "finished", "failed"]])
def test_both_forms_are_written_whole(space_of: Callable[..., Space], tmp_path: Path, states: list[str]) -> None:
    from gtea.experiments.tune.search_figure import draw_search

    trials = [
        Trial(i + 1, {"train.lr": 0.001 * (i + 1), "model.attention": "softmax"}, state, [0.1 * i], 1.0)  # type: ignore[arg-type]
        for i, state in enumerate(states)
    ]
    png, svg = draw_search(tmp_path / "trials.csv", space_of(TEXT), trials, "macro_f1")
    assert png.read_bytes().startswith(b"\x89PNG")
    text = svg.read_text()
    assert text.rstrip().endswith("</svg>")
    assert (png.name, svg.name) == ("trials.png", "trials.svg")
