"""The effect of a counterparty as a bar: to the right if it raises the score, to the left if it lowers it."""

from __future__ import annotations

from markupsafe import Markup

from gtea.report.figures import effect_text
from gtea.report.svg import drawing, element

_MIDDLE, _LONGEST = 76.0, 52.0
_LEAST_SCALE = 0.1
"""Log-odds. Where all effects are smaller, no bar is as long as it could be: they would look like reasons."""


def draw_effect(effect: float, largest: float) -> Markup:
    """A bar to scale with the largest effect of the case, and the number in log-odds."""
    length = _LONGEST * _share(effect, largest)
    up = effect >= 0
    parts = [
        element(
            "rect", class_="up" if up else "down", x=_MIDDLE if up else _MIDDLE - length, y=2.5, width=length, height=11
        ),
        element("line", x1=_MIDDLE, x2=_MIDDLE, y1=0, y2=16),
        element(
            "text",
            effect_text(effect),
            x=_MIDDLE + length + 5 if up else _MIDDLE - length - 5,
            y=12,
            text_anchor="start" if up else "end",
        ),
    ]
    word = "raises" if up else "lowers"
    return drawing(168, 16, f"{word} by {abs(effect):.2f}", parts, "effect")


def draw_small_effect(effect: float, largest: float) -> Markup:
    """A bar without a number, for the three strongest of an account in the index."""
    length = 86 * _share(effect, largest)
    bar = element("rect", class_="up" if effect >= 0 else "down", width=max(length, 1), height=6)
    word = "raises" if effect >= 0 else "lowers"
    return drawing(92, 8, f"{word} by {abs(effect):.2f}", [bar], "small-effect")


def _share(effect: float, largest: float) -> float:
    return min(abs(effect) / max(largest, _LEAST_SCALE), 1.0)
