"""Table 1 in a picture: for each metric, every model's mean, its spread and its single runs, beside the tree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gtea.experiments.drawing import AMBER, BLACK, BLUE, GREY, save, tidy
from gtea.experiments.paper.paper_figures import PaperColumn, paper_column
from gtea.experiments.paper.rows import METRICS, Row, shown_metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
from gtea.models.registry import GTEA_MODELS

_SHOWN = 3

_TREE = "tree"

_BESIDE = 0.25

_MEAN: dict[str, Any] = {"fmt": "o", "markersize": 5, "capsize": 2.5, "zorder": 3}

_SINGLE: dict[str, Any] = {"s": 10, "color": GREY, "alpha": 0.8, "linewidths": 0, "zorder": 2}

_PAPER: dict[str, Any] = {
    **{"marker": "D", "markersize": 5, "markerfacecolor": "none"},
    **{"linestyle": "none", "color": AMBER, "zorder": 4},
}

_LINE: dict[str, Any] = {"color": BLACK, "linewidth": 0.8, "linestyle": ":", "zorder": 1}


def draw_table(path: Path, title: str, rows: Sequence[Row]) -> list[Path]:
    """Write the picture as PNG and SVG beside each other, and say where."""
    shown = [row for row in rows if row.finished]
    return save(_figure(title, shown, paper_column(shown[0].jobs[0].subject.name)), path) if shown else []


def _figure(title: str, rows: Sequence[Row], paper: PaperColumn | None) -> Figure:
    from matplotlib.figure import Figure

    metrics = shown_metrics(rows)[:_SHOWN]
    figure = Figure(figsize=(1.6 + 3.4 * len(metrics), 1.7 + 0.32 * len(rows)), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    panels = figure.subplots(1, len(metrics), sharey=True, squeeze=False)[0]
    for panel, metric in zip(panels, metrics, strict=True):
        _draw(panel, metric, rows, paper)
    panels[0].set_yticks(range(len(rows)), [row.point.label for row in rows])
    panels[0].set_ylim(len(rows) - 0.4, -0.6)
    _explain(figure, panels[0], rows, paper)
    return figure


def _draw(axes: Axes, metric: str, rows: Sequence[Row], paper: PaperColumn | None) -> None:
    """One metric; the paper's figures only where they are of this metric."""
    from matplotlib.ticker import MaxNLocator

    for place, row in enumerate(rows):
        spread, values = row.spread(metric), row.values(metric)
        if spread is None:
            continue
        color = BLUE if row.point.model in GTEA_MODELS else BLACK
        axes.scatter(values, [place + _BESIDE] * len(values), **_SINGLE)
        axes.errorbar(spread.mean, place, xerr=spread.std, color=color, **_MEAN)
        figure = None if paper is None else paper.figure(metric, row.point.model)
        if figure is not None:
            axes.plot([figure], [place], **_PAPER)
        if row.point.model == _TREE:
            axes.axvline(spread.mean, **_LINE)
    axes.set_xlabel(METRICS[metric])
    axes.xaxis.set_major_locator(MaxNLocator(6))
    tidy(axes, "x")


def _explain(figure: Figure, axes: Axes, rows: Sequence[Row], paper: PaperColumn | None) -> None:
    """What the marks mean, by marks that are nowhere."""
    marks: list[Any] = [
        axes.errorbar([], [], xerr=[], color=BLUE, label="GTEA: mean ± standard deviation", **_MEAN),
        axes.errorbar([], [], xerr=[], color=BLACK, label="others", **_MEAN),
        axes.scatter([], [], label="single runs", **_SINGLE),
    ]
    if paper is not None:
        marks += axes.plot([], [], label=f"the paper, {paper.label}", **_PAPER)
    if any(row.point.model == _TREE for row in rows):
        marks += axes.plot([], [], label="the tree's mean", **_LINE)
    figure.legend(handles=marks, loc="outside lower right", ncols=5, frameon=False, fontsize=8)
