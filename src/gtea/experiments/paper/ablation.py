"""What makes the difference: GTEA with one thing changed at a time, on the same folds or seeds.

Points that are a model of Table 1, such as sparsemax or GTEA_HE, are the very runs of that table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gtea.errors import UsageError
from gtea.experiments.paper.page import (
    command,
    environment_lines,
    failures,
    how_it_was_measured,
    markdown_table,
    picture,
    settings_lines,
    write_page,
)
from gtea.experiments.paper.plan import Plan, Point, checked_models, settled
from gtea.experiments.paper.rows import METRICS, Row, Spread, shown_metrics
from gtea.experiments.paper.subject import Subject
from gtea.models.registry import GTEA_VARIANTS

AXES = {
    "attention": "How neighbours are weighed",
    "time": "With and without the time encoding (+T)",
    "edges": "Edges by hand-made statistics (GTEA_HE) and learnt",
    "max_events": "The most events of a history that are read, the last ones",
    "fanout": "The most neighbours that are sampled",
}
"""What is changed."""

BY = "macro_f1"
"""The figure in which differences are told: every task has it."""

_LEARNT = tuple(name for name in GTEA_VARIANTS if name != "gtea-he")

_BASE = "gtea-l+t"

_VALUES: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "attention": ("model.attention", ("sparsemax", "softmax", "entmax15"), "sparsemax"),
    "max_events": ("sampling.max_events", (4, 16, 64, 256), 64),
    "fanout": ("sampling.fanout", (5, 10, 25), 10),
}
"""The setting of an axis, its values, and the one that the others are held against."""


@dataclass(frozen=True)
class Comparison:
    """Points that differ in one thing."""

    axis: str
    name: str
    """What they have in common."""
    values: tuple[str, ...]
    points: tuple[Point, ...]
    reference: int
    """The place of the point that the others are held against."""


@dataclass(frozen=True)
class Compared:
    """A comparison and what came of it."""

    comparison: Comparison
    rows: tuple[Row, ...]

    def against_reference(self, place: int) -> Spread | None:
        """The difference to the reference over runs of the same fold and seed: what chance they share cancels out."""
        ours, theirs = ({o.label: o.test[BY] for o in row.finished} for row in self._pair(place))
        differences = [value - theirs[label] for label, value in ours.items() if label in theirs]
        return Spread.of(differences) if differences else None

    def _pair(self, place: int) -> tuple[Row, Row]:
        return self.rows[place], self.rows[self.comparison.reference]


def comparisons(axes: Sequence[str], models: Sequence[str], settings: Sequence[str] = ()) -> list[Comparison]:
    """What is held against what.

    Args:
        axes: Some of ``AXES``; none stands for all.
        models: Variants of GTEA; none stands for those that the paper compares, and GTEA_L+T for sizes.
        settings: As in --set, where no axis may be set.
    """
    for axis in axes:
        if axis not in AXES:
            raise UsageError(f"--axes: must be of {', '.join(AXES)} (got {axis!r}). Try {next(iter(AXES))!r}.")
    for model in checked_models(models):
        if model not in GTEA_VARIANTS:
            raise UsageError(f"--models: must be variants of GTEA here (got {model!r}). Try {_BASE!r}.")
    chosen = [axis for axis in AXES if axis in (axes or AXES)]
    for axis in chosen:
        if axis in _VALUES and _VALUES[axis][0] in settled(settings):
            raise UsageError(f"--set {_VALUES[axis][0]}: is what the axis {axis} changes. Leave one of them out.")
    return [each for axis in chosen for each in _of_axis(axis, list(dict.fromkeys(models)))]


def _of_axis(axis: str, models: Sequence[str]) -> Iterator[Comparison]:
    if axis == "time":
        yield from _with_and_without_time(models or _LEARNT)
    elif axis == "edges":
        yield _models_compared(axis, ("gtea-he", *(name for name in models or _LEARNT if name != "gtea-he")))
    else:
        name, values, reference = _VALUES[axis]
        for model in models or (_LEARNT if axis == "attention" else (_BASE,)):
            points = tuple(Point(model, {name: value}, f"{model}, {axis} {value}") for value in values)
            yield Comparison(axis, model, tuple(map(str, values)), points, values.index(reference))


def _with_and_without_time(models: Iterable[str]) -> Iterator[Comparison]:
    for plain in dict.fromkeys(model.removesuffix("+t") for model in models):
        if f"{plain}+t" in GTEA_VARIANTS:
            points = (Point(plain, {}, plain), Point(f"{plain}+t", {}, f"{plain}+t"))
            yield Comparison("time", plain, ("without", "with"), points, 0)


def _models_compared(axis: str, names: Sequence[str]) -> Comparison:
    values = tuple("hand-made" if name == "gtea-he" else "learnt" for name in names)
    return Comparison(axis, "GTEA", values, tuple(Point(name, {}, name) for name in names), 0)


def points_of(compared: Sequence[Comparison]) -> list[Point]:
    """All points, one comparison after the other."""
    return [point for comparison in compared for point in comparison.points]


def compared_of(asked: Sequence[Comparison], rows: Sequence[Row]) -> list[Compared]:
    """The rows of ``points_of``, handed back to their comparisons."""
    found, start = [], 0
    for comparison in asked:
        found.append(Compared(comparison, tuple(rows[start : start + len(comparison.points)])))
        start += len(comparison.points)
    return found


def write_ablation(
    path: Path, subject: Subject, plan: Plan, compared: Sequence[Compared], asked: Sequence[str]
) -> list[Path]:
    """Write the tables as Markdown and as JSON, as far as they are known, and say where.

    Args:
        path: Without a suffix.
        asked: The words of the command that chose axes and models.
    """
    return write_page(path, _page(path.name, subject, plan, compared, asked), ablation_json(subject, plan, compared))


def ablation_json(subject: Subject, plan: Plan, compared: Sequence[Compared]) -> dict[str, Any]:
    """The tables for machines."""
    head = {"data": subject.name, "task": subject.task, "protocol": plan.protocol, "folds": plan.folds}
    return {**head, "seed": plan.seed, "comparisons": [_comparison_json(each) for each in compared]}


def ablation_lines(compared: Sequence[Compared]) -> list[str]:
    """The tables alone, one for each axis."""
    lines: list[str] = []
    for axis, title in AXES.items():
        here = [each for each in compared if each.comparison.axis == axis]
        if here:
            lines += [f"## {axis}: {title[0].lower()}{title[1:]}", "", *_table(axis, here), ""]
    return lines


def _page(name: str, subject: Subject, plan: Plan, compared: Sequence[Compared], asked: Sequence[str]) -> list[str]:
    rows = [row for each in compared for row in each.rows]
    axes = {each.comparison.axis for each in compared}
    pictures = [("attention", "Sparsemax beside softmax")] if "attention" in axes else []
    pictures += [("others", "The other axes")] if axes - {"attention"} else []
    return [
        f"# What makes the difference: {subject.name}, protocol {plan.protocol}",
        "",
        f"    {command('ablation', subject, plan, asked)}",
        "",
        *(line for which, title in pictures for line in picture(title, f"{name}-{which}")),
        *how_it_was_measured(subject, plan, rows),
        "The last column is the difference in macro-F1 to the row marked with a star, run by run: what is within its",
        "standard deviation of zero may be chance.",
        "",
        *ablation_lines(compared),
        *(f"- {line}" for line in (settings_lines(rows)[0], *environment_lines(rows), *failures(rows))),
    ]


def _table(axis: str, compared: Sequence[Compared]) -> list[str]:
    metrics = shown_metrics(row for each in compared for row in each.rows)
    head = ["model", axis, *(METRICS[metric] for metric in metrics), "seconds", "runs", "macro-F1 against *"]
    return markdown_table(head, [_cells(each, i, metrics) for each in compared for i in range(len(each.rows))])


def _cells(compared: Compared, place: int, metrics: Sequence[str]) -> list[str]:
    row, comparison = compared.rows[place], compared.comparison
    is_reference = place == comparison.reference
    figures = ["" if (spread := row.spread(metric)) is None else spread.text for metric in metrics]
    seconds, against = row.seconds(), compared.against_reference(place)
    told = "*" if is_reference else "" if against is None else f"{against.mean:+.4f} ± {against.std:.4f}"
    facts = ["" if seconds is None else f"{seconds.mean:.1f}", str(len(row.finished))]
    return [row.point.model, comparison.values[place], *figures, *facts, told]


def _comparison_json(compared: Compared) -> dict[str, Any]:
    comparison = compared.comparison
    points = []
    for place, row in enumerate(compared.rows):
        against = compared.against_reference(place)
        difference = None if against is None else {"mean": against.mean, "std": against.std, "runs": against.count}
        points.append({"value": comparison.values[place], **row.to_json(), f"{BY}_against_reference": difference})
    reference = comparison.values[comparison.reference]
    return {"axis": comparison.axis, "name": comparison.name, "reference": reference, "points": points}
