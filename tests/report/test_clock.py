from __future__ import annotations

import numpy as np

from gtea.report.clock import Clock

DAY = 86_400
MAY = 1_715_472_000  # 12 May 2024


def test_times_are_told_in_whole_seconds() -> None:
    assert Clock("us").page_time(np.array([1_500_000, 2_999_999])).tolist() == [1, 2]
    assert Clock("step").page_time(np.array([7])).tolist() == [7]


def test_days_and_spans_in_words() -> None:
    clock = Clock("s")
    assert clock.day(MAY) == "12 May 2024"
    assert clock.instant(MAY + 3_660) == "12 May 2024 01:01 UTC"
    assert clock.between(MAY, MAY + 47 * DAY) == "between 12 May and 28 June 2024"
    assert clock.between(MAY, MAY + 60) == "on 12 May 2024"
    assert clock.between(MAY - 366 * DAY, MAY) == "between 12 May 2023 and 12 May 2024"
    assert [clock.short_span(length) for length in (90, 7_300, 3 * DAY, 800 * DAY, 0)] == [
        "90 s", "2 h", "3 d", "2 y", "0 s",
    ]  # fmt: skip
    assert clock.span(3 * DAY) == "3 days"


def test_steps_are_no_dates_and_some_dates_are_beyond_the_calendar() -> None:
    clock = Clock("step")
    assert (clock.day(1_200), clock.instant(5), clock.short_span(3)) == ("step 1,200", "step 5", "3 steps")
    assert clock.between(1, 9) == "between steps 1 and 9"
    assert clock.between(4, 4) == "at step 4"
    assert Clock("s").day(10**15) == f"step {10**15:,}"


def test_an_axis_has_few_marks_at_round_times() -> None:
    ticks = Clock("s").ticks(MAY - 1, MAY + 42 * DAY)
    assert 2 <= len(ticks) <= 8
    assert ticks[0].text.endswith("May")
    assert all(0 <= tick.share < 1 for tick in ticks)
    assert {tick.text for tick in Clock("s").ticks(MAY - 3_600, MAY + 3_600)} >= {"12 May"}
    assert [tick.text for tick in Clock("step").ticks(0, 40)] == ["0", "5", "10", "15", "20", "25", "30", "35"]


def test_an_axis_as_long_as_int64_allows() -> None:
    ends = -(2**63) - 1000, 2**63 + 1000
    for unit in ("s", "step"):
        ticks = Clock(unit).ticks(*ends)
        assert 2 <= len(ticks) <= 8
        assert all(0 <= tick.share < 1 for tick in ticks)
    century = [tick.text for tick in Clock("s").ticks(-70 * 365 * DAY, 50 * 365 * DAY)]
    assert 4 <= len(century) <= 8
    assert "Jan 1970" in century
