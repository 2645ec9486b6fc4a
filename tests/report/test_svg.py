from __future__ import annotations

from gtea.report.svg import curve, drawing, element, number


def test_everything_is_escaped_and_rounded() -> None:
    assert element("text", '<b>"&', class_='a"b', data_i=3, x=1.26, y=None) == (
        '<text class="a&#34;b" data-i="3" x="1.3">&lt;b&gt;&#34;&amp;</text>'
    )
    assert element("g", element("line", x2=4.0)) == '<g><line x2="4"/></g>'
    assert [number(value) for value in (0.0, -2.04, 10.0, 3.16)] == ["0", "-2", "10", "3.2"]


def test_a_drawing_has_a_text_for_those_who_cant_see_it() -> None:
    made = drawing(10, 5.5, 'a "label"', [element("line", x2=1)], "curve")
    assert made.startswith('<svg class="curve" viewBox="0 0 10 5.5" role="img" aria-label="a &#34;label&#34;">')


def test_a_curve_leaves_and_arrives_level() -> None:
    assert curve(0, 1, 10, 5) == "M0 1C5 1 5 5 10 5"
    assert curve(2, 0, 2, 8, bend=9) == "M2 0C9 0 9 8 2 8"
