from __future__ import annotations

import numpy as np
import pytest

from gtea.report.clock import Clock
from gtea.report.rhythm import rhythm_text

HOUR = 3_600
BURSTS = [day * 86_400 + minute * 60 for day in (0, 30, 80) for minute in range(6)]


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([5], "once"),
        ([5, 5, 5], "3 at once"),
        ([0, HOUR, 8 * HOUR], "3 in 8 h"),
        ([7 * 24 * HOUR * week for week in range(6)], "every 7 d"),
        (BURSTS, "in bursts"),
        ([0, 10, 30, 31, 50, 90, 95], "irregular"),
    ],
)
def test_a_rhythm_in_a_word_or_two(times: list[int], words: str) -> None:
    assert rhythm_text(np.array(times), Clock("s")) == words


def test_chance_is_no_burst() -> None:
    times = np.sort(np.random.default_rng(0).integers(0, 10**9, 5_000))
    assert rhythm_text(times, Clock("s")) == "irregular"


def test_a_rhythm_as_slow_as_int64_allows() -> None:
    ends = [-(2**63), *range(10), 2**63 - 1]
    assert rhythm_text(np.array(ends), Clock("step")) == "in bursts"
    assert rhythm_text(np.array(ends[-2:]), Clock("step")) == "2 in 9,223,372,036,854,775,798 steps"
