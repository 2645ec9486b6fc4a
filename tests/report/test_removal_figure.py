from __future__ import annotations

import dataclasses

from gtea.explain.explanation import RandomCurve
from gtea.report.case import Case
from gtea.report.removal_figure import draw_removal, removal_note


def test_both_curves_start_at_the_score() -> None:
    drawn = draw_removal(0.9, [0.5, 0.1], RandomCurve((0.8, 0.5), (0.05, 0.1)), 0.5)
    assert 'class="named" d="M42 10L189 83L336 156"' in drawn
    assert 'class="random" d="M42 10L189 ' in drawn
    assert 'class="cut"' in drawn
    assert "strongest first" in drawn


def test_a_fall_near_one_is_seen() -> None:
    drawn = draw_removal(0.9999, [0.999, 0.99], RandomCurve((0.9999, 0.9998), (0.0, 0.0)), None)
    assert 'class="named" d="M42 10L189 82.' in drawn
    assert all(f">{mark}</text>" in drawn for mark in ("0.99", "0.999", "0.9999"))


def test_a_hairs_breadth_does_not_look_like_a_fall() -> None:
    drawn = draw_removal(0.6, [0.599], RandomCurve((0.6,), (0.0,)), None)
    assert 'class="named" d="M42 82.7L336 83.3"' in drawn


def test_words_at_the_end_do_not_overlap() -> None:
    drawn = draw_removal(0.9, [0.9], RandomCurve((0.9,), (0.0,)), None)
    places = [part.split('y="')[1].split('"')[0] for part in drawn.split('class="end')[1:]]
    assert abs(float(places[0]) - float(places[1])) >= 13
    assert 'class="cut"' not in drawn


def test_the_note_says_what_the_curves_show(busy_case: Case) -> None:
    about = busy_case.explanation
    assert removal_note(about).startswith(f"Without the first three: {about.removal_curve[2]:.3f}. Without three at ")
    two = dataclasses.replace(about, removal_curve=(0.5, 0.3), num_counterparties=2)
    nobody_left = "Without both: 0.300, the score of any account without events. Dashes: alerts from here."
    assert removal_note(two) == nobody_left
    twelve = dataclasses.replace(about, num_counterparties=12)
    assert "The last point is the score of any account without events." in removal_note(twelve)
    assert "without events" not in removal_note(about)
    one = dataclasses.replace(about, removal_curve=(0.5,), threshold=None)
    assert removal_note(one).startswith("Without the first: 0.500. Without one at random: ")
