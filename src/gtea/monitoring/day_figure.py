"""A figure with a bar for each day and a line for the limit."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from gtea.report.svg import drawing, element

_WIDE, _TALL, _FLOOR, _TOP = 430.0, 92.0, 112.0, 20.0


def draw_days(
    names: Sequence[str], values: Sequence[float | None], over: Sequence[bool], limit: float | None, label: str
) -> Markup:
    """Bars from left to right, the newest last. A day without a value has none.

    Args:
        names: The days.
        values: Not negative.
        over: Whether each is beyond its limit.
        limit: Where the line is, if there is one.
        label: For those who can't see it.
    """
    highest = max([value for value in values if value is not None] + ([] if limit is None else [limit]), default=0.0)
    scale, step = _TALL / highest if highest > 0 else 0.0, _WIDE / max(len(values), 1)
    parts = []
    for place, (value, beyond) in enumerate(zip(values, over, strict=True)):
        if value is not None:
            tall = max(value * scale, 0.8)
            bar = {"x": place * step + step * 0.12, "y": _FLOOR - tall, "width": step * 0.76, "height": tall}
            parts.append(element("rect", class_="over" if beyond else None, **bar))
    parts.append(element("line", class_="base", x2=_WIDE, y1=_FLOOR, y2=_FLOOR))
    if limit is not None and scale:
        y = _FLOOR - limit * scale
        parts.append(element("line", class_="limit", x2=_WIDE, y1=y, y2=y))
    if names:
        parts.append(element("text", names[0], x=0, y=_FLOOR + 17))
        if len(names) > 1:
            parts.append(element("text", names[-1], x=_WIDE, y=_FLOOR + 17, text_anchor="end"))
    parts.append(element("text", f"highest {highest:,.3g}", x=_WIDE, y=_TOP - 8, text_anchor="end"))
    return drawing(_WIDE, _FLOOR + 24, label, parts, "by-day")
