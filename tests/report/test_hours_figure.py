from __future__ import annotations

import numpy as np

from gtea.report.hours_figure import draw_hours, hour_counts, hours_note

MONDAY_NOON = 1_700_481_600


def test_hours_of_the_week() -> None:
    # 20 November 2023, 12:00 UTC, was a Monday.
    counts = hour_counts(np.array([MONDAY_NOON, MONDAY_NOON + 59, MONDAY_NOON + 86_400, 0]))
    assert counts[0, 12] == 2
    assert counts[1, 12] == 1
    assert counts[3, 0] == 1, "1970 began on a Thursday"
    assert counts.sum() == 4
    assert draw_hours(counts).count('class="none"') == 7 * 24 - 3


def test_the_busiest_six_hours_in_words() -> None:
    counts = np.zeros((7, 24), dtype=np.int64)
    counts[2, 22] = counts[4, 1] = 3
    counts[0, 12] = 2
    assert hours_note(counts) == "Events by weekday and hour, UTC.", "few events have no hours of their own"
    counts *= 2
    assert hours_note(counts) == "Events by weekday and hour, UTC. 75 % fall between 20:00 and 02:00."
