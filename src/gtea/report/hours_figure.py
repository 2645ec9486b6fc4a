"""When it happens: events by weekday and hour, UTC."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from gtea.report.figures import percent_text
from gtea.report.svg import drawing, element

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LEFT, _STEP_X, _STEP_Y = 34.0, 16.9, 15.0
_HOUR = 3_600
_MANY = 10
"""Of fewer events, the hours say nothing."""


def hour_counts(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """[7, 24]: how many events fall into each hour of the week. Times are seconds since 1970, a Thursday."""
    hour = (times // _HOUR + 3 * 24) % (7 * 24)
    return np.bincount(hour, minlength=7 * 24).reshape(7, 24)


def draw_hours(counts: NDArray[np.int64]) -> Markup:
    """A square for each hour of the week, darker the more events it has."""
    parts = [
        element("text", day, x=_LEFT - 7, y=_STEP_Y * row + 11, text_anchor="end") for row, day in enumerate(_DAYS)
    ]
    parts += [element("text", f"{hour:02}", x=_LEFT + _STEP_X * hour, y=_STEP_Y * 7 + 14) for hour in range(0, 24, 3)]
    for row, hour in np.ndindex(7, 24):
        place = {"x": _LEFT + _STEP_X * hour, "y": _STEP_Y * row, "width": 15.4, "height": 13.5, "rx": 2}
        share = counts[row, hour] / max(counts.max(), 1)
        if share:
            parts.append(element("rect", fill_opacity=f"{0.12 + 0.88 * share**0.7:.2f}", **place))
        else:
            parts.append(element("rect", class_="none", **place))
    return drawing(440, _STEP_Y * 7 + 20, "Events by weekday and hour; the note below tells it", parts, "hours")


def hours_note(counts: NDArray[np.int64]) -> str:
    """The six hours in a row with the most events, in words."""
    by_hour = counts.sum(axis=0)
    if by_hour.sum() < _MANY:
        return "Events by weekday and hour, UTC."
    six = np.convolve(np.concatenate([by_hour, by_hour[:5]]), np.ones(6), mode="valid")
    first = int(six.argmax())
    share = six[first] / max(by_hour.sum(), 1)
    hours = f"{first:02}:00 and {(first + 6) % 24:02}:00"
    return f"Events by weekday and hour, UTC. {percent_text(share)} fall between {hours}."
