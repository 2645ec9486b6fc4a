"""Plot the learning curves: average precision over the number of labels, a panel for each data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gtea.experiments.defaults.standing import Standing, Verdict
from gtea.experiments.drawing import AMBER, BLACK, BLUE, GREY, RED, save_figure, style_axes
from gtea.experiments.few_labels.learning_curves import CurvesResult
from gtea.experiments.few_labels.paired_draws import COMPARED
from gtea.models.registry import DEFAULT_MODEL
from gtea.tasks.uncertainty import mean_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_METRIC = "average_precision"
_COLORS = dict(zip(COMPARED, (BLUE, AMBER, BLACK), strict=True))
_VERDICTS: dict[Verdict, str] = {"ahead": BLUE, "level": GREY, "behind": RED}
"""The filling of the default model's points."""
_RANGE = (0.01, 0.999)
"""The scale is that of log-odds, so that 0.98 and 0.99 can be told apart. It has no 0 and no 1."""
_TICKS = (0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)
_INTERVAL = ("low", "value", "high")
_Points = Sequence[tuple[int, Standing]]


def draw_few_labels(path: Path, result: CurvesResult) -> list[Path]:
    """Save the figure as PNG and SVG and return both paths; an empty list if there are no results."""
    panels: dict[str, list[tuple[int, Standing]]] = {}
    for size, standing in result.compared:
        panels.setdefault(size.data, []).append((size.per_class, standing))
    return save_figure(_figure(panels), path) if panels else []


def _figure(panels: dict[str, list[tuple[int, Standing]]]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1 + 4.5 * len(panels), 4.2), layout="constrained")
    for axes, (data, points) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        _draw(axes, points)
        axes.set_title(data, loc="left", fontsize=10)
        axes.set_xlabel("labelled accounts per class", fontsize=9)
    figure.axes[0].set_ylabel("average precision, with 95 % intervals", fontsize=9)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    for verdict, color in _VERDICTS.items():
        handles += figure.axes[0].plot([], [], "o", color=color, markeredgecolor=BLUE)
        labels.append(f"{DEFAULT_MODEL} {verdict}")
    columns = 6 if len(panels) > 1 else 3
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
    return figure


def _draw(axes: Axes, points: _Points) -> None:
    from matplotlib.ticker import NullLocator

    sizes = [size for size, _ in points]
    for model in COMPARED:
        found = [mean_interval(standing.figures[model][_METRIC]) for _, standing in points]
        low, value, high = (np.clip([getattr(each, name) for each in found], *_RANGE) for name in _INTERVAL)
        axes.fill_between(sizes, low, high, color=_COLORS[model], alpha=0.15, linewidth=0)
        axes.plot(sizes, value, color=_COLORS[model], linewidth=1.6, label=model)
    for size, standing in points:
        color = _VERDICTS[standing.differences[_METRIC].verdict]
        value = mean_interval(standing.figures[DEFAULT_MODEL][_METRIC]).value
        axes.plot([size], np.clip([value], *_RANGE), "o", color=color, markeredgecolor=BLUE, zorder=3)
    axes.set_xscale("log")
    axes.set_yscale("logit")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes], fontsize=8)
    limits = axes.get_ylim()
    ticks = [tick for tick in _TICKS if limits[0] <= tick <= limits[1]]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=8)
    axes.set_ylim(limits)
    style_axes(axes)
