from __future__ import annotations

import numpy as np
import pytest

from gtea.report.time_bins import time_bins

END = 2**63 - 1


@pytest.mark.parametrize(
    "window",
    [(0, 1), (3, 3), (-50, 1_000), (10**18, 10**18 + 977), (-END, END), (-END - 1 - 10**18, END + 10**18), (0, END)],
)
@pytest.mark.parametrize("bins", [1, 2, 190])
def test_a_bin_is_the_share_of_the_window_that_passed(window: tuple[int, int], bins: int) -> None:
    first, last = max(window[0], -END - 1), min(window[1], END)
    draw = np.random.default_rng(0)
    times = np.concatenate([draw.integers(first, last, 200, endpoint=True), [first, last]])
    exact = [min((int(time) - window[0]) * bins // max(window[1] - window[0], 1), bins - 1) for time in times]
    found = time_bins(times, window, bins)
    if window[1] - window[0] < 2**45:
        assert found.tolist() == exact
    assert np.abs(found - exact).max() <= 1, "a time at the edge of two bins may be rounded"
    assert found.min() >= 0
    assert found.max() <= bins - 1
