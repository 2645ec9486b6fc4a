from __future__ import annotations

import numpy as np

from gtea.report.standing_figure import draw_standing, score_counts


def test_every_score_is_counted_once() -> None:
    counts = score_counts(np.array([0.0, 0.019, 0.02, 0.999, 1.0]))
    assert counts.sum() == 5
    assert counts[[0, 1, 49]].tolist() == [2, 1, 2]


def test_the_pin_the_zone_and_the_words() -> None:
    drawn = draw_standing(np.array([9, 0, 1]), width=300, alerts_from=0.8, score=0.9)
    assert 'class="here" d="M270 66V8"' in drawn
    assert 'class="band" x="240"' in drawn
    assert "alerts from 0.800" in drawn
    assert "this one at 0.900" in drawn
    assert "band" not in draw_standing(np.array([1, 2]), width=300, alerts_from=None)
