"""Draw reliability.svg: predicted probabilities against what was observed, before and after calibration.

A point is the examples with a probability in one tenth of the scale. On the diagonal, predicted and observed agree.
The picture is plain SVG text: training needs no plotting library, and the same figures give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from gtea.models.model_folder import SavedModel
from gtea.runtime.printable import shortened

_SIDE = 300
"""The width and height of a panel, in pixels."""
_LEFT, _GAP, _RIGHT, _TOP, _BOTTOM = 64, 84, 24, 100, 168
_LARGEST, _SMALLEST = 11.0, 2.5
"""Radii. The largest point has its area by its number of examples, and so have all others that can be seen."""
_LONGEST_NAME = 24
# Two of Okabe and Ito's colours: they differ for colour-blind people and in print, and the shapes differ too.
_BEFORE, _AFTER = "#d55e00", "#0072b2"
_INK, _FAINT = "#333333", "#e2e5e8"


def reliability_figure(model: SavedModel) -> str | None:
    """The picture as SVG: a panel for validation and one for test, if there is one.

    With two classes, it shows the probability of the positive class; with more, that of the predicted class, and how
    often it is right. None for a model of gtea 0.1, whose metrics have no reliability curve.
    """
    parts = model.metrics.get("calibration", {})
    if not parts or any("reliability" not in part["after"] for part in parts.values()):
        return None
    words = _Words.of(model.config)
    width = _LEFT + len(parts) * _SIDE + (len(parts) - 1) * _GAP + _RIGHT
    height = _TOP + _SIDE + _BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-family="Helvetica, Arial, DejaVu Sans, sans-serif" fill="{_INK}">',
        "<title>Reliability of the probabilities before and after calibration</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *_header(),
    ]
    for place, (name, part) in enumerate(parts.items()):
        lines.append(f'<g transform="translate({_LEFT + place * (_SIDE + _GAP)} {_TOP})">')
        lines += _panel(name, part, words)
        lines.append("</g>")
    return "\n".join([*lines, *_footer(words, parts, height), "</svg>", ""])


@dataclass(frozen=True)
class _Words:
    """What the axes and captions say, safe in XML."""

    examples: str
    """accounts or pairs."""
    predicted: str
    observed: str

    @staticmethod
    def of(config: Mapping[str, Any]) -> _Words:
        examples = "pairs" if config["task"] == "links" else "accounts"
        if config["task"] == "nodes" and config["positive"] is None:
            return _Words(examples, "probability of the predicted class", "share of predictions that are right")
        name = _plain(config.get("positive") or "a link")
        return _Words(examples, f"predicted probability of {name}", f"observed share of {name}")


def _plain(name: str) -> str:
    """A class name on one line of XML."""
    return escape(shortened(name, _LONGEST_NAME))


def _header() -> Iterator[str]:
    """The title, and what the marks mean."""
    yield _text(_LEFT, 28, "Are the probabilities right?", size=16, weight="bold")
    y = 52
    yield _square(_LEFT + 6, y - 4, 5.5)
    yield _text(_LEFT + 18, y, "before calibration")
    yield _circle(_LEFT + 146, y - 4, 5.5)
    yield _text(_LEFT + 158, y, "after")
    yield _diagonal(_LEFT + 204, y, _LEFT + 220, y - 10)
    yield _text(_LEFT + 226, y, "as predicted")


def _panel(name: str, part: Mapping[str, Any], words: _Words) -> Iterator[str]:
    """One part: axes, both curves, and the figures below. The origin is the upper left corner of the plot."""
    count = sum(part["after"]["reliability"]["counts"])
    yield _text(0, -14, f"{name}: {count:,} {words.examples}", size=13, weight="bold")
    yield from _axes(words)
    yield _diagonal(0, _SIDE, _SIDE, 0)
    most = max(max(part[when]["reliability"]["counts"]) for when in ("before", "after"))
    yield from _curve(part["before"]["reliability"], most, _BEFORE, _square, dashed=True)
    yield from _curve(part["after"]["reliability"], most, _AFTER, _circle, dashed=False)
    for row, caption in enumerate(_captions(part)):
        yield _text(_SIDE / 2, _SIDE + 64 + 18 * row, caption, anchor="middle")


def _captions(part: Mapping[str, Any]) -> list[str]:
    """Figures before and after."""
    titles = {"brier": "Brier score", "log_loss": "log loss", "calibration_error": "calibration error"}
    before, after = part["before"], part["after"]
    return [f"{title} {before[name]:.4f} → {after[name]:.4f}" for name, title in titles.items() if name in after]


def _axes(words: _Words) -> Iterator[str]:
    for step in range(6):
        share, x, y = step / 5, _SIDE * step / 5, _SIDE - _SIDE * step / 5
        yield _line(x, 0, x, _SIDE, _FAINT)
        yield _line(0, y, _SIDE, y, _FAINT)
        yield _text(x, _SIDE + 17, f"{share:.1f}", anchor="middle", size=11)
        yield _text(-8, y + 4, f"{share:.1f}", anchor="end", size=11)
    yield _line(0, _SIDE, _SIDE, _SIDE, _INK)
    yield _line(0, 0, 0, _SIDE, _INK)
    yield _text(_SIDE / 2, _SIDE + 37, words.predicted, anchor="middle")
    yield f'<g transform="translate(-40 {_SIDE // 2}) rotate(-90)">{_text(0, 0, words.observed, anchor="middle")}</g>'


def _curve(
    curve: Mapping[str, Sequence[float]],
    most: int,
    colour: str,
    mark: Callable[[float, float, float], str],
    *,
    dashed: bool,
) -> Iterator[str]:
    """A line through points whose area shows how many examples they have."""
    points = [
        (_SIDE * predicted, _SIDE - _SIDE * observed, max(_LARGEST * (count / most) ** 0.5, _SMALLEST))
        for predicted, observed, count in zip(curve["predicted"], curve["observed"], curve["counts"], strict=True)
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5" stroke-opacity="0.7"{dashes}/>'
    for x, y, radius in points:
        yield mark(x, y, radius)


def _footer(words: _Words, parts: Mapping[str, Any], height: int) -> Iterator[str]:
    """How to read it, and what calibration did."""
    same = all(part["before"] == part["after"] for part in parts.values())
    lines = (
        f"Each point: the {words.examples} in one tenth of the scale; the larger, the more.",
        "Calibration changed nothing." if same else "Calibration was fitted on the validation part.",
        "All figures are better when lower.",
    )
    for row, line in enumerate(lines):
        yield _text(_LEFT, height - 39 + 15 * row, line, size=11)


def _text(x: float, y: float, words: str, *, size: int = 12, anchor: str = "start", weight: str = "normal") -> str:
    """A line of text. ``words`` must be safe in XML."""
    style = f'font-size="{size}" text-anchor="{anchor}" font-weight="{weight}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{words}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _diagonal(x1: float, y1: float, x2: float, y2: float) -> str:
    return _line(x1, y1, x2, y2, "#8a9199")


def _square(x: float, y: float, radius: float) -> str:
    """A square with the area of a circle."""
    side = radius * math.pi**0.5
    place = f'x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" width="{side:.1f}" height="{side:.1f}"'
    return f'<rect {place} fill="none" stroke="{_BEFORE}" stroke-width="1.8"/>'


def _circle(x: float, y: float, radius: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{_AFTER}" fill-opacity="0.75"/>'
