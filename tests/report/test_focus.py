from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import numpy as np

from gtea.report.focus import shortest_window, widened, with_margin

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
