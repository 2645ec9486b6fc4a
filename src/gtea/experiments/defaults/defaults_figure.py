"""Plot the suite: the difference to the best tree and its interval, every table a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gtea.experiments.defaults.standing import RANKING, Standing, Verdict
from gtea.experiments.defaults.suite import SuiteResult
from gtea.experiments.defaults.suite_tables import GROUPS
from gtea.experiments.drawing import BLACK, BLUE, GREY, RED, save_figure, style_axes
from gtea.models.registry import DEFAULT_MODEL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS: dict[Verdict, str] = {"ahead": BLUE, "level": GREY, "behind": RED}
_LINEAR = 0.01
"""Differences up to here are drawn to scale, larger ones by their logarithm: they range from 0.001 to 1."""
_TICKS = (0.01, 0.1, 1)
_POINT: dict[str, Any] = {"fmt": "o", "markersize": 5, "capsize": 2.5, "elinewidth": 1.4, "zorder": 3}
_ROW_INCHES = 0.25


@dataclass(frozen=True)
class _Row:
    """A row of the figure: the title of a group, or a table."""

    label: str
    standing: Standing | None
    """None for the title of a group."""


def draw_defaults(path: Path, result: SuiteResult) -> list[Path]:
    """Save the figure as PNG and SVG and return both paths; an empty list if there are no results."""
    return save_figure(_figure(_rows(result)), path) if result.compared else []


def _rows(result: SuiteResult) -> list[_Row]:
    rows = []
    for group, title in GROUPS.items():
        found = [_Row(each.table.name, each.standing) for each in result.tables if each.table.group == group]
        shown = [row for row in found if row.standing is not None]
        rows += [_Row(title, None), *shown] if shown else []
    return rows


def _figure(rows: Sequence[_Row]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 1.5 + _ROW_INCHES * len(rows)), layout="constrained")
    title = f"{DEFAULT_MODEL} minus the best tree, with 95 % intervals; right of zero, {DEFAULT_MODEL} is better"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    panels = figure.subplots(1, 2, sharey=True)
    accuracy = any(row.standing is not None and row.standing.ranking == RANKING[1] for row in rows)
    titles = f"average precision{' (* accuracy)' if accuracy else ''}", "log-likelihood"
    for panel, metric, title in zip(panels, (None, "log_likelihood"), titles, strict=True):
        _draw(panel, rows, metric)
        panel.set_xlabel(f"difference in {title}", fontsize=9)
    _label_rows(panels[0], rows)
    _add_legend(figure, panels[0])
    return figure


def _draw(axes: Axes, rows: Sequence[_Row], metric: str | None) -> None:
    axes.axvline(0, color=BLACK, linewidth=0.8, zorder=1)
    largest = _LINEAR
    for y, row in enumerate(rows):
        if row.standing is None:
            axes.axhspan(y - 0.5, y + 0.5, color="#f1f3f5", linewidth=0, zorder=0)
            continue
        found = row.standing.differences[metric or row.standing.ranking]
        value, low, high = found.interval.value, found.interval.low, found.interval.high
        # A percentile interval need not include the value itself.
        arms = [[max(value - low, 0)], [max(high - value, 0)]]
        axes.errorbar(value, y, xerr=arms, color=_COLORS[found.verdict], **_POINT)
        largest = max(largest, abs(low), abs(high))
    _scale(axes, largest)
    style_axes(axes, "x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _scale(axes: Axes, largest: float) -> None:
    """Make the axis symmetric, so that ahead and behind look alike."""
    from matplotlib.ticker import NullLocator

    axes.set_xscale("symlog", linthresh=_LINEAR, linscale=0.6)
    axes.xaxis.set_minor_locator(NullLocator())
    steps = [step for step in _TICKS if step <= largest * 1.01]
    ticks = [*(-step for step in reversed(steps)), 0, *steps]
    axes.set_xticks(ticks, [f"{tick:+g}" if tick else "0" for tick in ticks], fontsize=8)
    axes.set_xlim(-1.3 * largest, 1.3 * largest)


def _label_rows(axes: Axes, rows: Sequence[_Row]) -> None:
    starred = [
        f"{row.label} *" if row.standing is not None and row.standing.ranking == RANKING[1] else row.label
        for row in rows
    ]
    axes.set_yticks(range(len(rows)), starred, fontsize=9)
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        if row.standing is None:
            label.set_fontweight("bold")
    axes.set_ylim(len(rows) - 0.4, -0.6)


def _add_legend(figure: Figure, axes: Axes) -> None:
    handles = [
        axes.errorbar([], [], xerr=[], color=color, label=verdict, **_POINT) for verdict, color in _COLORS.items()
    ]
    figure.legend(handles=handles, loc="outside lower right", ncols=3, frameon=False, fontsize=8)
