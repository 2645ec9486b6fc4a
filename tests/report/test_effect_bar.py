from __future__ import annotations

from gtea.report.effect_bar import draw_effect, draw_small_effect


def test_the_side_tells_the_sign() -> None:
    raises, lowers = draw_effect(1.0, 2.0), draw_effect(-2.0, 2.0)
    assert 'class="up" x="76"' in raises
    assert 'width="26"' in raises
    assert "+1.00" in raises
    assert 'class="down" x="24"' in lowers
    assert 'aria-label="lowers by 2.00"' in lowers
    assert 'width="0"' in draw_effect(0.0, 0.0)


def test_a_small_bar_is_never_invisible() -> None:
    assert 'width="1"' in draw_small_effect(0.0, 0.0)
    assert 'width="43"' in draw_small_effect(-1.0, 2.0)


def test_effects_that_are_next_to_nothing_have_no_long_bar() -> None:
    assert 'width="0.5"' in draw_effect(0.001, 0.001)
    assert 'width="1"' in draw_small_effect(0.001, 0.001)
