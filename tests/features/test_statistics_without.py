"""Running sums are taken up where the first slot is gone, also if only some of them are kept."""

from __future__ import annotations

import numpy as np
import pytest
from tests.explain.worlds import CUT, random_rows, store_of

from gtea.features import statistics_without
from gtea.features.account_events import account_events
from gtea.features.statistics_without import StatisticsWithout


@pytest.mark.parametrize("marks", [1, 2, 5])
def test_few_kept_sums_change_nothing(marks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_of(random_rows(2))
    events = account_events(store.as_of(CUT), store.node("a00"))
    kept = np.random.default_rng(0).random((20, len(events.slot_partner))) < 0.7
    truth = StatisticsWithout(events, store.unit).rows(kept)
    monkeypatch.setattr(statistics_without, "_NUM_MARKS", marks)
    np.testing.assert_array_equal(StatisticsWithout(events, store.unit).rows(kept), truth)
