from __future__ import annotations

from gtea.report.precision_figure import draw_precision
from gtea.tasks.uncertainty import Interval


def test_the_curve_and_its_band() -> None:
    drawn = draw_precision([Interval(1.0, 0.5, 1.0), Interval(0.5, 0.25, 0.75)])
    assert 'class="line" d="M38 12L322 66"' in drawn
    assert 'class="band" d="M38 12L322 39L322 93L38 66Z"' in drawn
    assert draw_precision([Interval(1.0, 0.5, 1.0)]).count("<circle") == 1
