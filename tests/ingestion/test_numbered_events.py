from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.conftest import array_bytes, rows_table

from gtea.errors import DataError
from gtea.ingestion.append import append
from gtea.ingestion.ingest import ingest
from gtea.ingestion.numbered_events import NumberedEvents, last_held

EVENTS: dict[str, Any] = {"src": "src", "dst": "dst", "time": "time", "features": ["amount"]}
ROWS = [(f"a{i % 3}", "b", i, float(i)) for i in range(10)]


def events(first: int, last: int, log: str = "x") -> NumberedEvents:
    return NumberedEvents(log, first, rows_table(ROWS[first - 1 : last]))


def test_each_number_is_taken_once(tmp_path: Path) -> None:
    base = [("c", "d", 0, 1.0)]
    ingest(rows_table(base), **EVENTS, time_unit="step", out=tmp_path / "s")
    for first, last, held in ((1, 4, 4), (1, 4, 4), (2, 7, 7), (7, 7, 7), (8, 10, 10)):
        store = append(tmp_path / "s", events(first, last), on_duplicate="keep")
        assert last_held(store.manifest.sources, "x") == held
    assert last_held(store.manifest.sources, "y") == 0
    whole = ingest(rows_table(base + ROWS), **EVENTS, time_unit="step", out=tmp_path / "whole")
    assert array_bytes(store) == array_bytes(whole)
    assert store.report["rows_in"] == store.num_events == 11


def test_a_gap_is_refused(tmp_path: Path) -> None:
    ingest(rows_table(ROWS[:1]), **EVENTS, time_unit="step", out=tmp_path / "s")
    append(tmp_path / "s", events(1, 3), on_duplicate="keep")
    with pytest.raises(DataError, match="log x: must go on at event 4"):
        append(tmp_path / "s", events(5, 6), on_duplicate="keep")
