"""A bar for each day."""

from __future__ import annotations

from gtea.monitoring.day_figure import draw_days


def test_bars_limit_and_words() -> None:
    drawn = draw_days(["<1>", "2", "3"], [0.1, None, 0.4], [False, False, True], 0.25, "in words <")
    assert drawn.count("<rect") == 2
    assert drawn.count('class="over"') == 1
    assert drawn.count('class="limit"') == 1
    assert "&lt;1&gt;" in drawn
    assert 'aria-label="in words &lt;"' in drawn


def test_nothing_to_draw() -> None:
    assert draw_days([], [], [], None, "").count("<rect") == 0
    assert draw_days(["a"], [0.0], [False], None, "").count("<rect") == 1
