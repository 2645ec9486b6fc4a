"""Ablations in pictures: sparsemax beside softmax for each variant, and the other axes one beside the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gtea.experiments.drawing import AMBER, BLACK, BLUE, GREY, RED, save, tidy
from gtea.experiments.paper.ablation import AXES, BY, Compared
from gtea.experiments.paper.rows import METRICS, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = {"sparsemax": BLUE, "softmax": AMBER, "entmax15": GREY}
_LINES = (BLUE, AMBER, BLACK, RED, GREY)
_METRICS = ("accuracy", "macro_f1")
_WIDTH = 0.8


def draw_ablation(path: Path, title: str, compared: Sequence[Compared]) -> list[Path]:
    """Write the pictures that there is something for, as PNG and SVG, and say where."""
    known = [each for each in compared if any(row.finished for row in each.rows)]
    attention = [each for each in known if each.comparison.axis == "attention"]
    others = [each for each in known if each.comparison.axis != "attention"]
    paths = save(_bars(title, attention), path.with_name(f"{path.name}-attention")) if attention else []
    return [*paths, *(save(_small_multiples(title, others), path.with_name(f"{path.name}-others")) if others else [])]


def _bars(title: str, compared: Sequence[Compared]) -> Figure:
    """As in the paper's figure: one group of bars for each variant."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(6.8, 3.2 + 1.7 * len(compared)), 3.8), layout="constrained")
    figure.suptitle(f"{title}: how neighbours are weighed", x=0.01, ha="left", fontsize=11)
    panels = figure.subplots(1, len(_METRICS), sharey=True)
    for panel, metric in zip(panels, _METRICS, strict=True):
        _draw_bars(panel, metric, compared)
    low = min(min(row.values(m)) for each in compared for row in each.rows for m in _METRICS if row.finished)
    # No share is above 1, whatever an error bar says; a little more, so that dots at 1 are whole.
    panels[0].set_ylim(_below(low), min(panels[0].get_ylim()[1], 1 + 0.03 * (1 - _below(low))))
    panels[0].set_ylabel("test part; the axis does not begin at 0" if _below(low) else "test part")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower right", ncols=len(labels), frameon=False, fontsize=9)
    return figure


def _draw_bars(axes: Axes, metric: str, compared: Sequence[Compared]) -> None:
    values = compared[0].comparison.values
    width = _WIDTH / len(values)
    for i, value in enumerate(values):
        places = [group - _WIDTH / 2 + (i + 0.5) * width for group in range(len(compared))]
        shown = [(place, each.rows[i]) for place, each in zip(places, compared, strict=True) if each.rows[i].finished]
        spreads = [spread for _, row in shown if (spread := row.spread(metric)) is not None]
        axes.bar(
            [place for place, _ in shown],
            [spread.mean for spread in spreads],
            width * 0.92,
            yerr=[spread.std for spread in spreads],
            color=_COLORS[value],
            error_kw={"ecolor": BLACK, "elinewidth": 1, "capsize": 2.5},
            label=value,
        )
        for place, row in shown:
            _draw_runs(axes, place, row, metric)
    axes.set_xticks(range(len(compared)), [each.comparison.name for each in compared])
    axes.set_title(METRICS[metric], fontsize=10)
    tidy(axes)


def _draw_runs(axes: Axes, place: float, row: Row, metric: str) -> None:
    found = row.values(metric)
    axes.scatter([place] * len(found), found, s=9, color="white", edgecolors=BLACK, linewidths=0.6, zorder=3)


def _below(low: float) -> float:
    """A round number somewhat below all that is shown; zero where that is not far."""
    room = max(1 - low, 0.02)
    return round(low - 0.15 * room - 0.005, 2) if low > 0.5 else 0.0


def _small_multiples(title: str, compared: Sequence[Compared]) -> Figure:
    from matplotlib.figure import Figure

    axes_shown = [axis for axis in AXES if any(each.comparison.axis == axis for each in compared)]
    figure = Figure(figsize=(1.2 + 3.1 * len(axes_shown), 3.6), layout="constrained")
    figure.suptitle(f"{title}: {METRICS[BY]} of the test part", x=0.01, ha="left", fontsize=11)
    panels = figure.subplots(1, len(axes_shown), sharey=True, squeeze=False)[0]
    for panel, axis in zip(panels, axes_shown, strict=True):
        _draw_axis(panel, axis, [each for each in compared if each.comparison.axis == axis])
    return figure


def _draw_axis(axes: Axes, axis: str, compared: Sequence[Compared]) -> None:
    """Means with their spreads, a line for each model that an axis was tried on."""
    first = compared[0].comparison
    values = [point.model for point in first.points] if axis == "edges" else first.values
    for number, each in enumerate(compared):
        shift = 0.12 * (number - (len(compared) - 1) / 2)
        shown = [(place, row, spread) for place, row in enumerate(each.rows) if (spread := row.spread(BY)) is not None]
        for place, row, _ in shown:
            found = row.values(BY)
            axes.scatter([place + shift] * len(found), found, s=9, color=GREY, alpha=0.7, linewidths=0)
        axes.errorbar(
            [place + shift for place, _, _ in shown],
            [spread.mean for _, _, spread in shown],
            [spread.std for _, _, spread in shown],
            fmt="o" if axis == "edges" else "o-",
            markersize=5,
            linewidth=1,
            capsize=2.5,
            color=_LINES[number % len(_LINES)],
            label=each.comparison.name,
        )
    axes.set_xticks(range(len(values)), values, rotation=30 if axis == "edges" else 0)
    axes.set_xlim(-0.5, len(values) - 0.5)
    axes.set_xlabel(axis.replace("_", " "))
    if axis != "edges":
        axes.legend(frameon=False, fontsize=8)
    tidy(axes)
