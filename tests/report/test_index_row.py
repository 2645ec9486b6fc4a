from __future__ import annotations

import dataclasses
import json

from tests.report.made_up import made_up_case

from gtea.report.case import Case
from gtea.report.index_row import IndexRow, index_row
from gtea.store.memory import store_in_memory


def test_a_case_in_a_row(busy_case: Case) -> None:
    row = index_row(dataclasses.replace(busy_case, known="illicit"), busy_case.window)
    assert (row.whole, row.known, row.positive, row.num_pairs) == ("me", "illicit", True, 40)
    assert len(row.strongest) == 3
    assert row.activity.startswith("<svg")
    assert row.last_time == busy_case.dealings.page_time.max()
    again = IndexRow(**json.loads(json.dumps(row.to_json())))
    assert again.reason == row.reason


def test_without_amounts_a_row_counts_events() -> None:
    case = made_up_case(store_in_memory(["me", "a", "a"], ["a", "me", "me"], [1, 2, 3]))
    assert index_row(case, (0, 4)).moved == (("2", 2.0), ("1", 1.0))
