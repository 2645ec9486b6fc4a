"""A search in one picture: how good the trials were, one after the other and by the value of each setting."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gtea.experiments.drawing import BLACK, BLUE, GREY, RED, save, tidy
from gtea.experiments.tune.space import Axis, Choice, Space
from gtea.experiments.tune.trials import Trial, ranked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 3
_STYLES = {"pruned": (GREY, "v"), "finished": (BLUE, "o")}


def draw(path: Path, space: Space, trials: Sequence[Trial], metric: str) -> list[Path]:
    """Write the picture as PNG and SVG beside each other, and say where."""
    figure = _figure(space, trials, f"validation {metric.replace('_', ' ')}")
    return save(figure, path.with_suffix(""))


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
    """Every trial in its turn, and the best so far as a line."""
    from matplotlib.ticker import MaxNLocator

    for state, (color, marker) in _STYLES.items():
        shown = _of_state(trials, state)
        if shown:
            places, figures = [trial.number for trial, _ in shown], [figure for _, figure in shown]
            axes.scatter(places, figures, s=36, color=color, marker=marker, label=f"{state} ({len(shown)})")
    failed = [trial.number for trial in trials if trial.state == "failed"]
    for place in failed:
        label = f"failed ({len(failed)})" if place == failed[0] else None
        axes.axvline(place, color=RED, linewidth=1, linestyle=":", label=label)
    axes.step(*_best_so_far(trials), where="post", color=BLUE, linewidth=1, alpha=0.6, label="best so far")
    axes.plot([], [], color=BLACK, linewidth=1.5, label="median of a value")
    best = ranked(trials)[0]
    _ring(axes, best.number, best)
    axes.set_title(f"Best: trial {best.number}, {title} {best.metric:.4f}", loc="left", fontsize=11)
    axes.set(xlabel="trial", ylabel=title, xlim=(0.3, len(trials) + 0.7))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    tidy(axes)
    axes.legend(frameon=False, fontsize=8, ncols=5, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2)


def _of_state(trials: Sequence[Trial], state: str) -> list[tuple[Trial, float]]:
    """The trials of that state, and their figures."""
    return [(trial, trial.metric) for trial in trials if trial.state == state and trial.metric is not None]


def _best_so_far(trials: Sequence[Trial]) -> tuple[list[float], list[float]]:
    places: list[float] = []
    figures: list[float] = []
    best = float("-inf")
    for trial in trials:
        if trial.state == "finished":
            best = max(best, *trial.curve)
            places.append(trial.number)
            figures.append(best)
    return [*places, len(trials) + 0.7], [*figures, best]


def _draw_axis(axes: Axes, axis: Axis, trials: Sequence[Trial]) -> None:
    """What trials reached by the value of one setting; for lists also the median of each value."""
    best = ranked(trials)[0]
    for state, (color, marker) in _STYLES.items():
        shown = _of_state(trials, state)
        places, figures = [_place(axis, trial) for trial, _ in shown], [figure for _, figure in shown]
        axes.scatter(places, figures, s=22, color=color, marker=marker, alpha=0.75, linewidths=0)
    _ring(axes, _place(axis, best), best)
    if isinstance(axis.values, Choice):
        _draw_medians(axes, axis, trials)
        axes.set_xticks(range(len(axis.values.values)), [str(value) for value in axis.values.values])
        axes.set_xlim(-0.5, len(axis.values.values) - 0.5)
    elif axis.values.log:
        axes.set_xscale("log")
    axes.set_xlabel(axis.label)
    tidy(axes)


def _draw_medians(axes: Axes, axis: Axis, trials: Sequence[Trial]) -> None:
    assert isinstance(axis.values, Choice)
    for place, value in enumerate(axis.values.values):
        figures = [t.metric for t in trials if t.metric is not None and t.settings[axis.names[0]] == value]
        if figures:
            axes.hlines(statistics.median(figures), place - 0.32, place + 0.32, color=BLACK, linewidth=1.5)


def _ring(axes: Axes, place: float, best: Trial) -> None:
    axes.plot([place], [best.metric or 0.0], "o", markersize=11, markerfacecolor="none", color=RED)


def _place(axis: Axis, trial: Trial) -> Any:
    """Where a trial stands on an axis; trials with one value of a list stand side by side."""
    value = trial.settings[axis.names[0]]
    if not isinstance(axis.values, Choice):
        return value
    return axis.values.values.index(value) + 0.5 * (trial.number * 0.618 % 1 - 0.5)
