from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import numpy as np

from gtea.report.focus import reaching, shortest_window, widened, with_margin

EVENTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), min_size=1, max_size=12)


@hypothesis.given(EVENTS)
def test_the_window_is_the_shortest_of_all(events: list[tuple[int, int]]) -> None:
    times, weights = (np.array(column) for column in zip(*events, strict=True))
    first, last = shortest_window(times, weights.astype(float))
    plain = weights if weights.any() else np.ones(len(times))

    def held(start: int, end: int) -> float:
        return float(plain[(times >= start) & (times <= end)].sum())

    enough = 0.8 * plain.sum() - 1e-9
    assert held(first, last) >= enough
    shortest = min(b - a for a in times for b in times if b >= a and held(a, b) >= enough)
    assert last - first == shortest


def test_a_window_has_air_and_a_least_length() -> None:
    assert with_margin(100, 200, 10) == (97, 203)
    assert with_margin(100, 100, 10) == (95, 105)


def test_a_window_that_is_no_small_part_is_all_of_time() -> None:
    assert widened((10, 30), (0, 100)) == (0, 100)
    assert widened((10, 20), (0, 100)) == (10, 20)


@hypothesis.given(st.lists(st.lists(st.integers(-50, 50), min_size=1), min_size=1, max_size=5))
def test_no_history_is_outside_and_the_window_grows_no_more_than_it_must(histories: list[list[int]]) -> None:
    first, last = reaching((-5, 5), [np.array(times) for times in histories])
    assert first <= -5
    assert last >= 5
    assert all(any(first <= time <= last for time in times) for times in histories)
    outside = [times for times in histories if not any(-5 <= time <= 5 for time in times)]
    nearest = [min(times, key=lambda time: max(-5 - time, time - 5)) for times in outside]
    distance = max((max(-5 - time, time - 5) for time in nearest), default=0)
    assert max(-5 - first, last - 5) == distance


def test_times_as_far_apart_as_int64_allows() -> None:
    ends = np.iinfo(np.int64)
    assert reaching((0, 1), [np.array([ends.min]), np.array([ends.max])]) == (ends.min, ends.max)
