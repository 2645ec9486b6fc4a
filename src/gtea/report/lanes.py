"""Histories as lanes: sticks of what passed in each bin of a time window, up received, down sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from gtea.report.clock import Tick
from gtea.report.svg import element, number
from gtea.report.time_bins import time_bins

BINS = 190
_WIDTH = 1000
_MIDDLE = 18.0
_SHORTEST, _LONGEST = 2.0, 16.5
_LETTER = 6.6
"""How wide a letter of an axis is, in pixels."""


@dataclass(frozen=True)
class Bursts:
    """Events that matter most, as spans of page time, and the sign of their effects."""

    spans: Sequence[tuple[int, int]]
    raises: Sequence[bool]


@dataclass(frozen=True)
class Lane:
    """What of a history falls into a window, by bin: sums received and sent, and whether the model reads them."""

    received: NDArray[np.float64]
    sent: NDArray[np.float64]
    read: NDArray[np.bool_]
    """[2, bins]: received and sent."""

    @property
    def sums(self) -> NDArray[np.float64]:
        """[2, bins]: received and sent."""
        return np.stack([self.received, self.sent])


def lane_of(
    times: NDArray[np.int64],
    sent: NDArray[np.bool_],
    size: NDArray[np.float64],
    window: tuple[int, int],
    num_read: int,
    bins: int = BINS,
) -> Lane:
    """Sum a history up by bin.

    Args:
        times: In order.
        size: What a stick shows of an event: its amount, or 1.
        num_read: How many of the last events the model reads.
    """
    first, last = window
    inside = (times >= first) & (times <= last)
    place = time_bins(times[inside], window, bins)
    side = sent[inside].astype(np.int64)
    sums = np.zeros((2, bins))
    np.add.at(sums, (side, place), np.abs(size[inside]))
    read = np.zeros((2, bins), dtype=bool)
    fresh = (np.arange(len(times)) >= len(times) - num_read)[inside]
    np.logical_or.at(read, (side, place), fresh)
    # An event of amount zero is an event, and must be seen.
    np.add.at(sums, (side, place), np.where(size[inside] == 0, 1e-300, 0))
    return Lane(sums[0], sums[1], read)


def tallest(lanes: Sequence[Lane]) -> float:
    """The sum that a stick of full length stands for: few are larger, and these are cut."""
    sums = np.concatenate([lane.sums.ravel() for lane in lanes]) if lanes else np.zeros(0)
    sums = np.sort(sums[sums > 0])
    return float(sums[int(0.97 * (len(sums) - 1))]) if len(sums) else 1.0


def draw_lane(lane: Lane, full: float, bursts: Bursts, window: tuple[int, int]) -> Markup:
    """A lane of the evidence. Its paths are drawn anew by the script when the window changes."""
    parts = [element("use", href="#grid")]
    parts += [_burst(span, raises, window) for span, raises in zip(bursts.spans, bursts.raises, strict=True)]
    parts.append(element("line", class_="base", x2=_WIDTH, y1=_MIDDLE, y2=_MIDDLE))
    for side, name in enumerate(("in", "out")):
        for read, suffix in ((False, "-old"), (True, "")):
            chosen = np.where(lane.read[side] == read, lane.sums[side], 0)
            parts.append(element("path", class_=name + suffix, d=sticks(chosen, full, _MIDDLE, up=not side)))
    return _stretched("lane", 36, parts)


def draw_strip(lane: Lane, window: tuple[int, int], whole: tuple[int, int]) -> Markup:
    """Everything of all time, with the window on it."""
    full = tallest([lane])
    left, right = (_WIDTH * (time - whole[0]) / max(whole[1] - whole[0], 1) for time in window)
    parts = [
        element("rect", id="window", x=left, width=right - left, height=46),
        element("line", class_="base", x2=_WIDTH, y1=23, y2=23),
        element("path", class_="in", d=sticks(lane.received, full, 23.0, up=True)),
        element("path", class_="out", d=sticks(lane.sent, full, 23.0, up=False)),
        element("path", id="edges", d=f"M{number(left)} 0v46M{number(right)} 0v46"),
    ]
    return _stretched("lane all", 46, parts)


def draw_activity(lane: Lane) -> Markup:
    """The lane of an account in the index."""
    full = tallest([lane])
    parts = [
        element("use", href="#grid"),
        element("line", class_="base", x2=_WIDTH, y1=_MIDDLE, y2=_MIDDLE),
        element("path", class_="in", d=sticks(lane.received, full, _MIDDLE, up=True)),
        element("path", class_="out", d=sticks(lane.sent, full, _MIDDLE, up=False)),
    ]
    return _stretched("lane", 36, parts)


def draw_axis(ticks: Sequence[Tick], width: float) -> Markup:
    """The axis of all lanes of a table; its grid is drawn in each of them.

    Args:
        width: That of the lanes in pixels, where they have least room. A text that would leave them is left out.
    """
    marks = []
    for tick in ticks:
        x = f"{100 * tick.share:.2f}%"
        marks.append(element("line", x1=x, x2=x, y2=5))
        if tick.share * width + _LETTER * len(tick.text) < width:
            marks.append(element("text", tick.text, x=x, y=15, dx=3))
    grid = "".join(f"M{number(_WIDTH * tick.share)} 0V60" for tick in ticks)
    parts = [element("g", *marks, id="ticks"), element("defs", element("path", id="grid", d=grid))]
    return element("svg", *parts, class_="axis", aria_hidden="true")


def sticks(sums: NDArray[np.float64], full: float, middle: float, *, up: bool) -> str:
    """A path with a stick for each bin that has something, its length by square root."""
    bins = np.flatnonzero(sums > 0)
    length = np.clip(_LONGEST * np.sqrt(sums[bins] / full), _SHORTEST, _LONGEST) * (middle / _MIDDLE)
    x = (bins + 0.5) * _WIDTH / len(sums)
    sign = "-" if up else ""
    return "".join(f"M{number(a)} {number(middle)}v{sign}{number(b)}" for a, b in zip(x, length, strict=True))


def _burst(span: tuple[int, int], raises: bool, window: tuple[int, int]) -> Markup:
    left, right = (_WIDTH * (time - window[0]) / max(window[1] - window[0], 1) for time in span)
    seen = right >= 0 and left <= _WIDTH
    left, right = max(left, 0.0), min(right, float(_WIDTH))
    wide = max(right - left + 8, 14.0) if seen else 0.0
    return element(
        "rect", class_=f"burst {'up' if raises else 'down'}", x=(left + right - wide) / 2, width=wide, height=36
    )


def _stretched(class_: str, height: int, parts: Sequence[Markup]) -> Markup:
    box = f"0 0 {_WIDTH} {height}"
    return element("svg", *parts, class_=class_, viewBox=box, preserveAspectRatio="none", aria_hidden="true")
