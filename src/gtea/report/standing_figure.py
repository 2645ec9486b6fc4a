"""Where a score stands among all scores: a histogram, the alerts tinted, a pin."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from gtea.report.figures import score_text
from gtea.report.svg import drawing, element, number

_BARS = 50
_FLOOR, _TALL = 66.0, 46.0


def draw_standing(
    counts: NDArray[np.int64],
    *,
    width: float,
    alerts_from: float | None,
    score: float | None = None,
    label: str = "alerts from",
) -> Markup:
    """Bars by logarithm: a hundred alerts are seen beside a million other accounts.

    Args:
        counts: The number of accounts in each of equal ranges of scores from 0 to 1.
        alerts_from: The lowest score that is an alert.
        score: Where the pin is.
    """
    height = _TALL * np.log1p(counts) / max(np.log1p(counts.max()), 1e-9)
    step = width / len(counts)
    bars = "".join(
        f"M{number((place + 0.5) * step)} {number(_FLOOR)}v-{number(max(tall, 0.8))}"
        for place, tall in enumerate(height)
        if tall
    )
    parts = [element("path", d=bars, stroke_width=step * 0.78)]
    parts.append(element("line", class_="rule", x2=width, y1=_FLOOR, y2=_FLOOR))
    for place, text in enumerate(("0", "0.25", "0.5", "0.75", "1")):
        anchor = ("start", "middle", "middle", "middle", "end")[place]
        parts.append(element("text", text, x=width * place / 4, y=80, text_anchor=anchor))
    if alerts_from is not None:
        x = width * min(alerts_from, 1.0)
        parts.insert(0, element("rect", class_="band", x=x, y=14, width=width - x, height=_FLOOR - 14))
        parts.append(element("line", class_="cut", x1=x, x2=x, y1=14, y2=_FLOOR))
        words = f"{label} {score_text(alerts_from)}"
        # Beside the line where there is room: on the left side only tall bars would be in the way.
        at, anchor = (x + 5, "start") if x < width / 2 - 1 else (x - 5, "end")
        parts.append(element("text", words, class_="cut-label", x=at, y=10, text_anchor=anchor))
    if score is not None:
        parts.append(element("path", class_="here", d=f"M{number(width * score)} {number(_FLOOR)}V8"))
        parts.append(element("circle", class_="here", cx=width * score, cy=8, r=4.5))
    spoken = "Scores of all accounts" if score is None else f"Scores of all accounts; this one at {score_text(score)}"
    return drawing(width, 92, spoken, parts, "standing")


def score_counts(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many scores lie in each bar."""
    return np.bincount(np.clip((scores * _BARS).astype(np.int64), 0, _BARS - 1), minlength=_BARS)
