"""Expected precision by the number of accounts looked at, with its band."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from gtea.report.figures import percent_text
from gtea.report.svg import drawing, element, number
from gtea.tasks.uncertainty import Interval

LEFT, WIDE, FLOOR, TALL = 38.0, 284.0, 120.0, 108.0
"""The frame of the curve, which the script needs to move the pin."""


def draw_precision(expected: Sequence[Interval]) -> Markup:
    """The share expected to be right among the first 1, 2, .. accounts."""
    most = len(expected)

    def points(values: Sequence[float]) -> list[str]:
        return [
            f"{number(LEFT + WIDE * place / max(most - 1, 1))} {number(FLOOR - TALL * value)}"
            for place, value in enumerate(values)
        ]

    parts: list[Markup] = []
    for share in (0.0, 0.5, 1.0):
        y = FLOOR - TALL * share
        parts.append(element("line", class_="grid", x1=LEFT, x2=LEFT + WIDE, y1=y, y2=y))
        parts.append(element("text", percent_text(share), x=LEFT - 7, y=y + 4, text_anchor="end"))
    for place in sorted({0, (most - 1) // 2, most - 1}):
        x = LEFT + WIDE * place / max(most - 1, 1)
        parts.append(element("text", str(place + 1), x=x, y=FLOOR + 16, text_anchor="middle"))
    upper = points([each.high for each in expected])
    lower = points([each.low for each in expected])
    parts.append(element("path", class_="band", d="M" + "L".join([*upper, *reversed(lower)]) + "Z"))
    parts.append(element("path", class_="line", d="M" + "L".join(points([each.value for each in expected]))))
    end = FLOOR - TALL * expected[-1].value
    parts.append(element("path", class_="here", d=f"M{number(LEFT + WIDE)} {number(FLOOR)}V{number(end)}"))
    parts.append(element("circle", cx=LEFT + WIDE, cy=end, r=4))
    return drawing(LEFT + WIDE + 10, FLOOR + 20, "Expected precision by number of accounts", parts, "curve")
