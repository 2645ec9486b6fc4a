"""Does the explanation hold? The score after taking away the strongest counterparties, against as many at random."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from gtea.explain.explanation import RandomCurve
from gtea.report.svg import drawing, element, number

_LEFT, _WIDE, _FLOOR, _TALL = 30.0, 306.0, 156.0, 150.0


def draw_removal(score: float, named: Sequence[float], at_random: RandomCurve, threshold: float | None) -> Markup:
    """One curve counted anew for what the explanation names, one for what chance names, with its standard deviation."""
    most = len(named)

    def x(place: int) -> float:
        return _LEFT + _WIDE * place / most

    def y(value: float) -> float:
        return _FLOOR - _TALL * min(max(value, 0.0), 1.0)

    def line(values: Sequence[float]) -> str:
        return "M" + "L".join(f"{number(x(place))} {number(y(value))}" for place, value in enumerate(values))

    parts: list[Markup] = []
    for value in (0, 0.25, 0.5, 0.75, 1):
        parts.append(element("line", class_="grid", x1=_LEFT, x2=_LEFT + _WIDE, y1=y(value), y2=y(value)))
        parts.append(element("text", f"{value:g}", x=_LEFT - 6, y=y(value) + 4, text_anchor="end"))
    if threshold is not None:
        parts.append(element("line", class_="cut", x1=_LEFT, x2=_LEFT + _WIDE, y1=y(threshold), y2=y(threshold)))
    places = range(0, most + 1, 1 if most <= 6 else 2)
    parts += [element("text", str(place), x=x(place), y=_FLOOR + 17, text_anchor="middle") for place in places]
    parts.append(element("text", "counterparties taken away", x=_LEFT + _WIDE / 2, y=_FLOOR + 33, text_anchor="middle"))
    mean, spread = [score, *at_random.mean], [0.0, *at_random.deviation]
    upper = [value + wide for value, wide in zip(mean, spread, strict=True)]
    lower = [value - wide for value, wide in zip(mean, spread, strict=True)]
    back = "L".join(f"{number(x(place))} {number(y(lower[place]))}" for place in reversed(range(len(lower))))
    parts.append(element("path", class_="band", d=f"{line(upper)}L{back}Z"))
    parts.append(element("path", class_="random", d=line(mean)))
    curve = [score, *named]
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
