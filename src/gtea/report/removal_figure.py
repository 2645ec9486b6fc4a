"""Does the explanation hold? The score after taking away the strongest counterparties, against as many at random."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from gtea.explain.explanation import Explanation, RandomCurve, log_odds
from gtea.report.figures import score_text
from gtea.report.svg import drawing, element, number

_LEFT, _WIDE, _FLOOR, _TALL = 42.0, 294.0, 156.0, 146.0
_MARKS = (0.5, 0.9, 0.1, 0.99, 0.01, 0.999, 0.001, 0.9999, 0.0001, 0.75, 0.25, 0.95, 0.05)
"""Scores that the axis may name, the most important first."""
_APART = 15.0
_LEAST = 1.0
"""The scale shows at least so much log-odds: a hair's breadth must not look like a fall."""


def draw_removal(score: float, named: Sequence[float], at_random: RandomCurve, threshold: float | None) -> Markup:
    """One curve counted anew for what the explanation names, one for what chance names, with its standard deviation.

    The scale is log-odds, in which effects are told: from 0.9999 to 0.99 is as far as from 0.5 to 0.01, about.
    """
    most = len(named)
    mean, spread = [score, *at_random.mean], [0.0, *at_random.deviation]
    curve = [score, *named]
    shown = [log_odds(value) for value in (*curve, *mean, *([] if threshold is None else [threshold]))]
    middle, reach = (max(shown) + min(shown)) / 2, max(max(shown) - min(shown), _LEAST) / 2

    def x(place: int) -> float:
        return _LEFT + _WIDE * place / most

    def y(value: float) -> float:
        share = (log_odds(value) - middle + reach) / (2 * reach)
        return _FLOOR - _TALL * min(max(share, 0.0), 1.0)

    def line(values: Sequence[float]) -> str:
        return "M" + "L".join(f"{number(x(place))} {number(y(value))}" for place, value in enumerate(values))

    parts: list[Markup] = []
    marks: list[float] = []
    for value in _MARKS:
        inside = abs(log_odds(value) - middle) <= reach
        if inside and all(abs(y(value) - y(other)) >= _APART for other in marks):
            marks.append(value)
            parts.append(element("line", class_="grid", x1=_LEFT, x2=_LEFT + _WIDE, y1=y(value), y2=y(value)))
            parts.append(element("text", f"{value:g}", x=_LEFT - 6, y=y(value) + 4, text_anchor="end"))
    if threshold is not None:
        parts.append(element("line", class_="cut", x1=_LEFT, x2=_LEFT + _WIDE, y1=y(threshold), y2=y(threshold)))
    places = range(0, most + 1, 1 if most <= 6 else 2)
    parts += [element("text", str(place), x=x(place), y=_FLOOR + 17, text_anchor="middle") for place in places]
    parts.append(element("text", "counterparties taken away", x=_LEFT + _WIDE / 2, y=_FLOOR + 33, text_anchor="middle"))
    upper = [value + wide for value, wide in zip(mean, spread, strict=True)]
    lower = [value - wide for value, wide in zip(mean, spread, strict=True)]
    back = "L".join(f"{number(x(place))} {number(y(lower[place]))}" for place in reversed(range(len(lower))))
    parts.append(element("path", class_="band", d=f"{line(upper)}L{back}Z"))
    parts.append(element("path", class_="random", d=line(mean)))
    parts.append(element("path", class_="named", d=line(curve)))
    parts += [element("circle", cx=x(place), cy=y(value), r=2.6) for place, value in enumerate(curve)]
    ends = y(mean[-1]) + 4, y(curve[-1]) + 4
    if abs(ends[0] - ends[1]) < 14:  # two words in one place can't be read
        ends = (ends[0] - 7, ends[1] + 7) if ends[0] <= ends[1] else (ends[0] + 7, ends[1] - 7)
    parts.append(element("text", "at random", class_="end", x=_LEFT + _WIDE + 8, y=ends[0]))
    parts.append(element("text", "strongest first", class_="end up", x=_LEFT + _WIDE + 8, y=ends[1]))
    return drawing(
        440, _FLOOR + 38, "The score after removing counterparties; the note below tells it", parts, "removal"
    )


def removal_note(about: Explanation) -> str:
    """The score without the first three, against three at random, in words."""
    place = min(3, len(about.removal_curve)) - 1
    after = score_text(about.removal_curve[place])
    if place + 1 == about.num_counterparties:
        note = f"Without {('it', 'both', 'all three')[place]}: {after}, the score of any account without events."
    else:
        which, number = (("first", "one"), ("first two", "two"), ("first three", "three"))[place]
        note = f"Without the {which}: {after}. Without {number} at random: {score_text(about.random_curve.mean[place])}"
        note += " (band: one standard deviation)."
        if len(about.removal_curve) == about.num_counterparties:
            note += " The last point is the score of any account without events."
    return note + (" Dashes: alerts from here." if about.threshold is not None else "")
