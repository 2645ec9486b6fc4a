"""Plot a search: the metric of each trial in order, and against the value of each setting."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gtea.experiments.drawing import BLACK, BLUE, GREY, RED, save_figure, style_axes
from gtea.experiments.tune.space import Axis, Choice, Space
from gtea.experiments.tune.trials import Trial, ranked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 3
_STYLES = {"pruned": (GREY, "v"), "finished": (BLUE, "o")}


def draw_search(path: Path, space: Space, trials: Sequence[Trial], metric: str) -> list[Path]:
    """Save the figure as PNG and SVG and return both paths."""
    figure = _figure(space, trials, f"validation {metric.replace('_', ' ')}")
    return save_figure(figure, path.with_suffix(""))


def _figure(space: Space, trials: Sequence[Trial], title: str) -> Figure:
    from matplotlib.figure import Figure

    rows = -(-len(space.axes) // _COLUMNS)
    figure = Figure(figsize=(10, 3.2 + 2.5 * rows), layout="constrained")
    grid = figure.add_gridspec(1 + rows, _COLUMNS, height_ratios=[1.2, *[1.0] * rows])
    sequence = figure.add_subplot(grid[0, :])
    _draw_sequence(sequence, trials, title)
    for number, axis in enumerate(space.axes):
        row, column = divmod(number, _COLUMNS)
        panel = figure.add_subplot(grid[1 + row, column], sharey=sequence)
        _draw_axis(panel, axis, trials)
        panel.set_ylabel("" if column else title)
        panel.tick_params(labelleft=column == 0)
    return figure


def _draw_sequence(axes: Axes, trials: Sequence[Trial], title: str) -> None:
    """Plot every trial in order, with a line for the best so far."""
    from matplotlib.ticker import MaxNLocator

    for state, (color, marker) in _STYLES.items():
        shown = _of_state(trials, state)
        if shown:
            numbers, metrics = [trial.number for trial, _ in shown], [metric for _, metric in shown]
            axes.scatter(numbers, metrics, s=36, color=color, marker=marker, label=f"{state} ({len(shown)})")
    failed = [trial.number for trial in trials if trial.state == "failed"]
    for number in failed:
        label = f"failed ({len(failed)})" if number == failed[0] else None
        axes.axvline(number, color=RED, linewidth=1, linestyle=":", label=label)
    axes.step(*_best_so_far(trials), where="post", color=BLUE, linewidth=1, alpha=0.6, label="best so far")
    axes.plot([], [], color=BLACK, linewidth=1.5, label="median per value")
    best = ranked(trials)[0]
    _mark_best(axes, best.number, best)
    axes.set_title(f"Best: trial {best.number}, {title} {best.metric:.4f}", loc="left", fontsize=11)
    axes.set(xlabel="trial", ylabel=title, xlim=(0.3, len(trials) + 0.7))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    style_axes(axes)
    axes.legend(frameon=False, fontsize=8, ncols=5, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2)


def _of_state(trials: Sequence[Trial], state: str) -> list[tuple[Trial, float]]:
    """The trials in a state, with their metrics."""
    return [(trial, trial.metric) for trial in trials if trial.state == state and trial.metric is not None]


def _best_so_far(trials: Sequence[Trial]) -> tuple[list[float], list[float]]:
    numbers: list[float] = []
    metrics: list[float] = []
    best = float("-inf")
    for trial in trials:
        if trial.state == "finished":
            best = max(best, *trial.curve)
            numbers.append(trial.number)
            metrics.append(best)
    return [*numbers, len(trials) + 0.7], [*metrics, best]


def _draw_axis(axes: Axes, axis: Axis, trials: Sequence[Trial]) -> None:
    """Plot the metric against one setting; for lists, also the median per value."""
    best = ranked(trials)[0]
    for state, (color, marker) in _STYLES.items():
        shown = _of_state(trials, state)
        positions, metrics = [_position(axis, trial) for trial, _ in shown], [metric for _, metric in shown]
        axes.scatter(positions, metrics, s=22, color=color, marker=marker, alpha=0.75, linewidths=0)
    _mark_best(axes, _position(axis, best), best)
    if isinstance(axis.values, Choice):
        _draw_medians(axes, axis, trials)
        axes.set_xticks(range(len(axis.values.values)), [str(value) for value in axis.values.values])
        axes.set_xlim(-0.5, len(axis.values.values) - 0.5)
    elif axis.values.log:
        axes.set_xscale("log")
    axes.set_xlabel(axis.label)
    style_axes(axes)


def _draw_medians(axes: Axes, axis: Axis, trials: Sequence[Trial]) -> None:
    assert isinstance(axis.values, Choice)
    for position, value in enumerate(axis.values.values):
        metrics = [t.metric for t in trials if t.metric is not None and t.settings[axis.names[0]] == value]
        if metrics:
            axes.hlines(statistics.median(metrics), position - 0.32, position + 0.32, color=BLACK, linewidth=1.5)


def _mark_best(axes: Axes, x: float, best: Trial) -> None:
    axes.plot([x], [best.metric or 0.0], "o", markersize=11, markerfacecolor="none", color=RED)


def _position(axis: Axis, trial: Trial) -> Any:
    """The x position of a trial. Trials that share a value of a list are spread out around it."""
    value = trial.settings[axis.names[0]]
    if not isinstance(axis.values, Choice):
        return value
    return axis.values.values.index(value) + 0.5 * (trial.number * 0.618 % 1 - 0.5)
