"""The paper's filters: thin edges first, then accounts with too many partners."""

from __future__ import annotations

from pathlib import Path

import pytest

from gtea.ingestion.filters import Filtered, filter_edges
from gtea.ingestion.workbench import Workbench

EVENTS = [(1, 2), (1, 2), (1, 3), (1, 3), (1, 4), (1, 4), (2, 3), (2, 3), (3, 4), (5, 5)]


@pytest.mark.parametrize(
    ("least", "most", "filtered", "kept"),
    [
        (0, 0, Filtered(), EVENTS),
        (2, 0, Filtered(few_events=2), EVENTS[:8]),
        (0, 2, Filtered(max_degree=9, nodes=2), [(5, 5)]),
        (2, 2, Filtered(few_events=2, max_degree=6, nodes=1), [(2, 3), (2, 3)]),
    ],
)
def test_what_is_left(tmp_path: Path, least: int, most: int, filtered: Filtered, kept: list[tuple[int, int]]) -> None:
    values = ", ".join(f"({lo}, {hi})" for lo, hi in EVENTS)
    with Workbench(tmp_path) as bench:
        bench.run(f"CREATE TABLE keyed AS SELECT * FROM (VALUES {values}) v(lo, hi)")
        assert filter_edges(bench, least, most) == filtered
        assert sorted(bench.rows("SELECT lo, hi FROM kept")) == sorted(kept)
