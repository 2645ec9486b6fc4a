"""Plot histograms of attention weights on a log scale, with exact zeros in a bar of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gtea.experiments.drawing import AMBER, BLUE, save_figure, style_axes
from gtea.experiments.paper.attention import ALL, EDGES, KINDS, SMALL, AttentionResult
from gtea.experiments.paper.rows import Spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = dict(zip(KINDS, (BLUE, AMBER), strict=True))
_DECADES = np.log10(EDGES)
_ZERO = float(_DECADES[0]) - 1.0
"""x position (log10) of the bar of exact zeros, left of all bins."""
_WIDTH = 0.36


def draw_attention(path: Path, title: str, results: Sequence[AttentionResult]) -> list[Path]:
    """Save the figure as PNG and SVG and return both paths; an empty list if there are no results."""
    finished = [result for result in results if result.weights]
    return save_figure(_figure(title, finished), path) if finished else []


def _figure(title: str, results: Sequence[AttentionResult]) -> Figure:
    from matplotlib.figure import Figure

    models, groups = list(dict.fromkeys(result.row.point.model for result in results)), results[0].groups
    figure = Figure(figsize=(1.0 + 3.6 * len(groups), 0.9 + 2.7 * len(models)), layout="constrained")
    figure.suptitle(f"{title}: attention weights of all neighbours", x=0.01, ha="left", fontsize=11)
    panels = figure.subplots(len(models), len(groups), sharex=True, sharey=True, squeeze=False)
    for model, row in zip(models, panels, strict=True):
        for group, panel in zip(groups, row, strict=True):
            _draw(panel, group, [result for result in results if result.row.point.model == model])
            panel.set_title(f"{model}, {'all accounts' if group == ALL else group}", fontsize=10)
        row[0].set_ylabel("share of neighbours")
    for panel in panels[-1]:
        panel.set_xlabel("attention weight")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower right", ncols=len(labels), frameon=False, fontsize=9)
    return figure


def _draw(axes: Axes, group: str, results: Sequence[AttentionResult]) -> None:
    """Means over runs: a step per bin of weights above zero, and a bar for zeros."""
    for index, result in enumerate(results):
        color = _COLORS[result.kind]
        summaries = [run[group] for run in result.weights]
        shares = np.mean([summary.histogram for summary in summaries], axis=0)
        axes.stairs(shares, _DECADES, color=color, linewidth=1.4, label=result.kind)
        axes.stairs(shares, _DECADES, color=color, fill=True, alpha=0.18)
        zero = Spread.of([summary.zero for summary in summaries])
        x = _ZERO + (index - (len(results) - 1) / 2) * _WIDTH
        axes.bar(x, zero.mean, _WIDTH * 0.9, yerr=zero.std if zero.count > 1 else None, color=color, capsize=2)
        axes.annotate(f"{zero.mean:.0%}", (x, zero.mean + zero.std), xytext=(0, 2), textcoords="offset points",
                      ha="center", fontsize=8, color=color)  # fmt: skip
    axes.axvline(np.log10(SMALL), color="#c8ced4", linewidth=0.8, linestyle=":", zorder=0)
    decades = range(int(_DECADES[0]), 1, 2)
    axes.set_xticks([_ZERO, *decades], ["0", *(f"$10^{{{decade}}}$" if decade else "1" for decade in decades)])
    axes.set_xlim(_ZERO - 0.7, 0.3)
    style_axes(axes)
