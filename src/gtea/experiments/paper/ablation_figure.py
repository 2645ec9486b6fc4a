"""Plot ablations: a bar chart of the attention functions, and small multiples of the other axes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gtea.experiments.drawing import AMBER, BLACK, BLUE, GREY, RED, save_figure, style_axes
from gtea.experiments.paper.ablation import AXES, COMPARED_METRIC, ComparisonResult
from gtea.experiments.paper.rows import METRICS, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = {"sparsemax": BLUE, "softmax": AMBER, "entmax15": GREY}
_LINES = (BLUE, AMBER, BLACK, RED, GREY)
_METRICS = ("accuracy", "macro_f1")
_WIDTH = 0.8


def draw_ablation(path: Path, title: str, results: Sequence[ComparisonResult]) -> list[Path]:
    """Save the figures for which there are results, as PNG and SVG, and return their paths."""
    finished = [result for result in results if any(row.finished for row in result.rows)]
    attention = [result for result in finished if result.comparison.axis == "attention"]
    others = [result for result in finished if result.comparison.axis != "attention"]
    paths = save_figure(_bars(title, attention), path.with_name(f"{path.name}-attention")) if attention else []
    return [
        *paths,
        *(save_figure(_small_multiples(title, others), path.with_name(f"{path.name}-others")) if others else []),
    ]


def _bars(title: str, results: Sequence[ComparisonResult]) -> Figure:
    """One group of bars per variant, as in the paper's figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(6.8, 3.2 + 1.7 * len(results)), 3.8), layout="constrained")
    figure.suptitle(f"{title}: attention function over neighbours", x=0.01, ha="left", fontsize=11)
    panels = figure.subplots(1, len(_METRICS), sharey=True)
    for panel, metric in zip(panels, _METRICS, strict=True):
        _draw_bars(panel, metric, results)
    low = min(min(row.values(m)) for result in results for row in result.rows for m in _METRICS if row.finished)
    # The metrics are at most 1, so cut error bars above it. The margin keeps markers at 1 whole.
    panels[0].set_ylim(_lower_limit(low), min(panels[0].get_ylim()[1], 1 + 0.03 * (1 - _lower_limit(low))))
    panels[0].set_ylabel("test part (axis does not start at 0)" if _lower_limit(low) else "test part")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower right", ncols=len(labels), frameon=False, fontsize=9)
    return figure


def _draw_bars(axes: Axes, metric: str, results: Sequence[ComparisonResult]) -> None:
    values = results[0].comparison.values
    width = _WIDTH / len(values)
    for i, value in enumerate(values):
        positions = [group - _WIDTH / 2 + (i + 0.5) * width for group in range(len(results))]
        shown = [(x, result.rows[i]) for x, result in zip(positions, results, strict=True) if result.rows[i].finished]
        spreads = [spread for _, row in shown if (spread := row.spread(metric)) is not None]
        axes.bar(
            [x for x, _ in shown],
            [spread.mean for spread in spreads],
            width * 0.92,
            yerr=[spread.std for spread in spreads],
            color=_COLORS[value],
            error_kw={"ecolor": BLACK, "elinewidth": 1, "capsize": 2.5},
            label=value,
        )
        for x, row in shown:
            _draw_runs(axes, x, row, metric)
    axes.set_xticks(range(len(results)), [result.comparison.name for result in results])
    axes.set_title(METRICS[metric], fontsize=10)
    style_axes(axes)


def _draw_runs(axes: Axes, x: float, row: Row, metric: str) -> None:
    values = row.values(metric)
    axes.scatter([x] * len(values), values, s=9, color="white", edgecolors=BLACK, linewidths=0.6, zorder=3)


def _lower_limit(low: float) -> float:
    """A round axis limit below all values; 0 if any value is at most 0.5."""
    margin = max(1 - low, 0.02)
    return round(low - 0.15 * margin - 0.005, 2) if low > 0.5 else 0.0


def _small_multiples(title: str, results: Sequence[ComparisonResult]) -> Figure:
    from matplotlib.figure import Figure

    axes_shown = [axis for axis in AXES if any(result.comparison.axis == axis for result in results)]
    figure = Figure(figsize=(1.2 + 3.1 * len(axes_shown), 3.6), layout="constrained")
    figure.suptitle(f"{title}: {METRICS[COMPARED_METRIC]} on the test part", x=0.01, ha="left", fontsize=11)
    panels = figure.subplots(1, len(axes_shown), sharey=True, squeeze=False)[0]
    for panel, axis in zip(panels, axes_shown, strict=True):
        _draw_axis(panel, axis, [result for result in results if result.comparison.axis == axis])
    return figure


def _draw_axis(axes: Axes, axis: str, results: Sequence[ComparisonResult]) -> None:
    """Means and standard deviations, one line per model."""
    first = results[0].comparison
    values = [point.model for point in first.points] if axis == "edges" else first.values
    for number, result in enumerate(results):
        shift = 0.12 * (number - (len(results) - 1) / 2)
        spreads = [row.spread(COMPARED_METRIC) for row in result.rows]
        shown = [(x + shift, spread) for x, spread in enumerate(spreads) if spread is not None]
        for x, row in enumerate(result.rows):
            runs = row.values(COMPARED_METRIC)
            axes.scatter([x + shift] * len(runs), runs, s=9, color=GREY, alpha=0.7, linewidths=0)
        axes.errorbar(
            [x for x, _ in shown],
            [spread.mean for _, spread in shown],
            [spread.std for _, spread in shown],
            fmt="o" if axis == "edges" else "o-",
            markersize=5,
            linewidth=1,
            capsize=2.5,
            color=_LINES[number % len(_LINES)],
            label=result.comparison.name,
        )
    axes.set_xticks(range(len(values)), values, rotation=30 if axis == "edges" else 0)
    axes.set_xlim(-0.5, len(values) - 0.5)
    axes.set_xlabel(axis.replace("_", " "))
    if axis != "edges":
        axes.legend(frameon=False, fontsize=8)
    style_axes(axes)
