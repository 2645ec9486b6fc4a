"""Plot Table 1: mean, standard deviation and single runs of every model, per metric."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gtea.experiments.drawing import AMBER, BLACK, BLUE, GREY, save_figure, style_axes
from gtea.experiments.paper.paper_results import PaperColumn, paper_column
from gtea.experiments.paper.rows import METRICS, Row, shown_metrics
from gtea.models.registry import GTEA_MODELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_METRICS = 3

_TREE = "tree"

_RUN_OFFSET = 0.25
"""Single runs are drawn this far below the mean."""

_MEAN: dict[str, Any] = {"fmt": "o", "markersize": 5, "capsize": 2.5, "zorder": 3}

_SINGLE: dict[str, Any] = {"s": 10, "color": GREY, "alpha": 0.8, "linewidths": 0, "zorder": 2}

_PAPER: dict[str, Any] = {
    **{"marker": "D", "markersize": 5, "markerfacecolor": "none"},
    **{"linestyle": "none", "color": AMBER, "zorder": 4},
}

_LINE: dict[str, Any] = {"color": BLACK, "linewidth": 0.8, "linestyle": ":", "zorder": 1}


def draw_table(path: Path, title: str, rows: Sequence[Row]) -> list[Path]:
    """Save the figure as PNG and SVG and return both paths; an empty list if there are no results."""
    shown = [row for row in rows if row.finished]
    return save_figure(_figure(title, shown, paper_column(shown[0].jobs[0].subject.name)), path) if shown else []


def _figure(title: str, rows: Sequence[Row], paper: PaperColumn | None) -> Figure:
    from matplotlib.figure import Figure

    metrics = shown_metrics(rows)[:_MAX_METRICS]
    figure = Figure(figsize=(1.6 + 3.4 * len(metrics), 1.7 + 0.32 * len(rows)), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    panels = figure.subplots(1, len(metrics), sharey=True, squeeze=False)[0]
    for panel, metric in zip(panels, metrics, strict=True):
        _draw(panel, metric, rows, paper)
    panels[0].set_yticks(range(len(rows)), [row.point.label for row in rows])
    panels[0].set_ylim(len(rows) - 0.4, -0.6)
    _add_legend(figure, panels[0], rows, paper)
    return figure


def _draw(axes: Axes, metric: str, rows: Sequence[Row], paper: PaperColumn | None) -> None:
    """One metric, with the paper's results if it reports this metric."""
    from matplotlib.ticker import MaxNLocator

    for y, row in enumerate(rows):
        spread, values = row.spread(metric), row.values(metric)
        if spread is None:
            continue
        color = BLUE if row.point.model in GTEA_MODELS else BLACK
        axes.scatter(values, [y + _RUN_OFFSET] * len(values), **_SINGLE)
        axes.errorbar(spread.mean, y, xerr=spread.std, color=color, **_MEAN)
        published = None if paper is None else paper.value(metric, row.point.model)
        if published is not None:
            axes.plot([published], [y], **_PAPER)
        if row.point.model == _TREE:
            axes.axvline(spread.mean, **_LINE)
    axes.set_xlabel(METRICS[metric])
    axes.xaxis.set_major_locator(MaxNLocator(6))
    style_axes(axes, "x")


def _add_legend(figure: Figure, axes: Axes, rows: Sequence[Row], paper: PaperColumn | None) -> None:
    """Add a legend, with handles from empty plots."""
    handles: list[Any] = [
        axes.errorbar([], [], xerr=[], color=BLUE, label="GTEA: mean ± standard deviation", **_MEAN),
        axes.errorbar([], [], xerr=[], color=BLACK, label="other models", **_MEAN),
        axes.scatter([], [], label="single runs", **_SINGLE),
    ]
    if paper is not None:
        handles += axes.plot([], [], label=f"paper, {paper.label}", **_PAPER)
    if any(row.point.model == _TREE for row in rows):
        handles += axes.plot([], [], label="boosted trees: mean", **_LINE)
    figure.legend(handles=handles, loc="outside lower right", ncols=5, frameon=False, fontsize=8)
