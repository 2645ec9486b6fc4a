from __future__ import annotations

import numpy as np

from gtea.report.clock import Tick
from gtea.report.lanes import Bursts, draw_activity, draw_axis, draw_lane, draw_strip, lane_of, sticks, tallest

TIMES, SENT, SIZE = np.array([0, 5, 10, 99]), np.array([False, True, False, True]), np.array([1.0, 2.0, 0.0, 9.0])


def test_sums_by_bin_and_direction() -> None:
    lane = lane_of(TIMES, SENT, SIZE, (0, 20), num_read=2, bins=2)
    assert np.round(lane.received).tolist() == [1, 0]
    assert lane.received[1] > 0, "an event of amount zero is an event"
    assert lane.sent.tolist() == [2, 0]
    assert lane.read.tolist() == [[False, True], [False, False]]
    assert tallest([lane]) == 1.0
    assert tallest([]) == 1.0


def test_sticks_by_square_root_within_bounds() -> None:
    assert sticks(np.array([0.0, 4.0, 1.0, 1e-9]), 4.0, 18.0, up=True) == "M375 18v-16.5M625 18v-8.2M875 18v-2"
    assert sticks(np.array([100.0]), 4.0, 18.0, up=False) == "M500 18v16.5"


def test_a_lane_has_what_the_script_redraws() -> None:
    lane = lane_of(TIMES, SENT, SIZE, (0, 20), num_read=1)
    drawn = draw_lane(lane, 2.0, Bursts([(2, 6), (50, 60)], [True, False]), (0, 20))
    for name in ("in", "in-old", "out", "out-old", "burst up", "burst down"):
        assert f'class="{name}"' in drawn
    assert 'width="0"' in drawn, "a burst outside the window takes no room"
    assert 'id="window" x="100" width="200"' in draw_strip(lane, (2, 6), (0, 20))
    assert draw_activity(lane).count("<path") == 2


def test_marks_near_the_end_have_no_text() -> None:
    axis = draw_axis([Tick(0.5, "12 May"), Tick(0.95, "13 May")], 300.0)
    assert "12 May" in axis
    assert "13 May" not in axis
    assert 'd="M500 0V60M950 0V60"' in axis
    assert "12 May" not in draw_axis([Tick(0.5, "12 May")], 70.0), "it would leave a narrow column"
