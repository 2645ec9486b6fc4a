from __future__ import annotations

from gtea.explain.explanation import RandomCurve
from gtea.report.removal_figure import draw_removal


def test_both_curves_start_at_the_score() -> None:
    drawn = draw_removal(1.0, [0.5, 0.0], RandomCurve((0.9, 0.8), (0.1, 0.1)), 0.5)
    assert 'class="named" d="M30 6L183 81L336 156"' in drawn
    assert 'class="random" d="M30 6L183 21L336 36"' in drawn
    assert 'class="cut"' in drawn
    assert "strongest first" in drawn


def test_words_at_the_end_do_not_overlap() -> None:
    drawn = draw_removal(0.9, [0.9], RandomCurve((0.9,), (0.0,)), None)
    places = [part.split('y="')[1].split('"')[0] for part in drawn.split('class="end')[1:]]
    assert abs(float(places[0]) - float(places[1])) >= 13
    assert 'class="cut"' not in drawn
