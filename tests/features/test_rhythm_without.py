"""Times of day count where times are dates, and not where they are steps."""

from __future__ import annotations

import numpy as np
from tests.explain.worlds import random_rows, store_of

from gtea.features.account_events import account_events
from gtea.features.rhythm_statistics import rhythm_statistic_names
from gtea.features.rhythm_without import RhythmWithout


def test_day_columns() -> None:
    day = [name in ("rhythm_day_cos", "rhythm_day_sin") for name in rhythm_statistic_names(["amount"])]
    for unit, is_dated in (("s", True), ("step", False)):
        store = store_of(random_rows(2), unit=unit)
        view = store.as_of()
        events = account_events(view, store.node("a00"))
        rows = RhythmWithout(events, store.unit).rows(np.ones((1, len(events.slot_partner)), dtype=bool))
        assert rows[0, day].any() == is_dated
