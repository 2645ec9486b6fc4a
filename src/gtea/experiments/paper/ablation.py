"""Ablations: GTEA with one setting changed at a time, on the same folds or seeds.

Points that also occur in Table 1, such as sparsemax or GTEA_HE, share its runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gtea.errors import UsageError
from gtea.experiments.paper.page import computed_lines, protocol_lines, reproduce_command, settings_lines
from gtea.experiments.paper.plan import Plan, Point, setting_names, validate_models
from gtea.experiments.paper.rows import METRICS, Row, Spread, shown_metrics
from gtea.experiments.result_page import image_lines, markdown_table, write_page
from gtea.experiments.runs.subject import Subject
from gtea.models.registry import GTEA_VARIANTS

AXES = {
    "attention": "Attention function over neighbours",
    "time": "With and without the time encoding (+T)",
    "edges": "Hand-made edge statistics (GTEA_HE) or learnt edge embeddings",
    "max_events": "Maximum number of (most recent) events read per history",
    "fanout": "Maximum number of neighbours sampled per node",
}
"""Maps each ablation axis to its title."""

COMPARED_METRIC = "macro_f1"
"""The metric in which differences are reported. Every task has it."""

_LEARNT = tuple(name for name in GTEA_VARIANTS if name != "gtea-he")

_BASE = "gtea-l+t"

_VALUES: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "attention": ("model.attention", ("sparsemax", "softmax", "entmax15"), "sparsemax"),
    "max_events": ("sampling.max_events", (4, 16, 64, 256), 64),
    "fanout": ("sampling.fanout", (5, 10, 25), 10),
}
"""For each axis: the setting, its values, and the reference value."""


@dataclass(frozen=True)
class Comparison:
    """Points that differ in one setting."""

    axis: str
    name: str
    """What the points have in common."""
    values: tuple[str, ...]
    points: tuple[Point, ...]
    reference: int
    """Index of the point that the others are compared with."""


@dataclass(frozen=True)
class ComparisonResult:
    """A comparison and the results of its points."""

    comparison: Comparison
    rows: tuple[Row, ...]

    def against_reference(self, index: int) -> Spread | None:
        """The paired difference to the reference, over runs of the same fold and seed."""
        rows = self.rows[index], self.rows[self.comparison.reference]
        ours, reference = ({o.label: o.test[COMPARED_METRIC] for o in row.finished} for row in rows)
        differences = [value - reference[label] for label, value in ours.items() if label in reference]
        return Spread.of(differences) if differences else None


def comparisons(axes: Sequence[str], models: Sequence[str], settings: Sequence[str] = ()) -> list[Comparison]:
    """Build the comparisons of an ablation.

    Args:
        axes: Some of ``AXES``; empty for all.
        models: GTEA variants. Empty for those of the paper (max_events and fanout: GTEA_L+T only).
        settings: ``KEY=VALUE`` from --set. They must not set an ablated setting.
    """
    for axis in axes:
        if axis not in AXES:
            raise UsageError(f"--axes: must be among {', '.join(AXES)} (got {axis!r}). Try {next(iter(AXES))!r}.")
    for model in validate_models(models):
        if model not in GTEA_VARIANTS:
            raise UsageError(f"--models: must be GTEA variants here (got {model!r}). Try {_BASE!r}.")
    chosen = [axis for axis in AXES if axis in (axes or AXES)]
    for axis in chosen:
        if axis in _VALUES and _VALUES[axis][0] in setting_names(settings):
            raise UsageError(f"--set {_VALUES[axis][0]}: is what the axis {axis} varies. Remove one of them.")
    return [comparison for axis in chosen for comparison in _axis_comparisons(axis, list(dict.fromkeys(models)))]


def _axis_comparisons(axis: str, models: Sequence[str]) -> Iterator[Comparison]:
    if axis == "time":
        yield from _time_comparisons(models or _LEARNT)
    elif axis == "edges":
        yield _edge_comparison(axis, ("gtea-he", *(name for name in models or _LEARNT if name != "gtea-he")))
    else:
        name, values, reference = _VALUES[axis]
        for model in models or (_LEARNT if axis == "attention" else (_BASE,)):
            points = tuple(Point(model, {name: value}, f"{model}, {axis} {value}") for value in values)
            yield Comparison(axis, model, tuple(map(str, values)), points, values.index(reference))


def _time_comparisons(models: Iterable[str]) -> Iterator[Comparison]:
    for plain in dict.fromkeys(model.removesuffix("+t") for model in models):
        if f"{plain}+t" in GTEA_VARIANTS:
            points = (Point(plain, {}, plain), Point(f"{plain}+t", {}, f"{plain}+t"))
            yield Comparison("time", plain, ("without", "with"), points, 0)


def _edge_comparison(axis: str, names: Sequence[str]) -> Comparison:
    values = tuple("hand-made" if name == "gtea-he" else "learnt" for name in names)
    return Comparison(axis, "GTEA", values, tuple(Point(name, {}, name) for name in names), 0)


def points_of(comparisons: Sequence[Comparison]) -> list[Point]:
    """The points of all comparisons, in order."""
    return [point for comparison in comparisons for point in comparison.points]


def comparison_results(comparisons: Sequence[Comparison], rows: Sequence[Row]) -> list[ComparisonResult]:
    """Group the rows of ``points_of(comparisons)`` by comparison."""
    results, start = [], 0
    for comparison in comparisons:
        results.append(ComparisonResult(comparison, tuple(rows[start : start + len(comparison.points)])))
        start += len(comparison.points)
    return results


def write_ablation(
    path: Path, subject: Subject, plan: Plan, results: Sequence[ComparisonResult], options: Sequence[str]
) -> list[Path]:
    """Write the results so far as Markdown and JSON and return both paths.

    Args:
        path: Path without a suffix.
        options: The --axes and --models options of the command.
    """
    return write_page(path, _page(path.name, subject, plan, results, options), ablation_json(subject, plan, results))


def ablation_json(subject: Subject, plan: Plan, results: Sequence[ComparisonResult]) -> dict[str, Any]:
    """The tables as JSON."""
    header = {"data": subject.name, "task": subject.task, "protocol": plan.protocol, "folds": plan.folds}
    return {**header, "seed": plan.seed, "comparisons": [_comparison_json(result) for result in results]}


def ablation_lines(results: Sequence[ComparisonResult]) -> list[str]:
    """The tables as Markdown lines, one table per axis."""
    lines: list[str] = []
    for axis, title in AXES.items():
        selected = [result for result in results if result.comparison.axis == axis]
        if selected:
            lines += [f"## {axis}: {title[0].lower()}{title[1:]}", "", *_table(axis, selected), ""]
    return lines


def _page(
    name: str, subject: Subject, plan: Plan, results: Sequence[ComparisonResult], options: Sequence[str]
) -> list[str]:
    rows = [row for result in results for row in result.rows]
    axes = {result.comparison.axis for result in results}
    images = [("attention", "Results by attention function")] if "attention" in axes else []
    images += [("others", "Results on the other axes")] if axes - {"attention"} else []
    return [
        f"# Ablation: {subject.name}, protocol {plan.protocol}",
        "",
        f"    {reproduce_command('ablation', subject, plan, options)}",
        "",
        *(line for which, title in images for line in image_lines(title, f"{name}-{which}")),
        *protocol_lines(subject, plan, rows),
        "The last column is the paired difference in macro-F1 to the row marked with a star. A difference within one",
        "standard deviation of zero may be chance.",
        "",
        *ablation_lines(results),
        *(f"- {line}" for line in (settings_lines(rows)[0], *computed_lines(rows))),
    ]


def _table(axis: str, results: Sequence[ComparisonResult]) -> list[str]:
    metrics = shown_metrics(row for result in results for row in result.rows)
    header = ["model", axis, *(METRICS[metric] for metric in metrics), "seconds", "runs", "macro-F1 against *"]
    return markdown_table(header, [_cells(result, i, metrics) for result in results for i in range(len(result.rows))])


def _cells(result: ComparisonResult, index: int, metrics: Sequence[str]) -> list[str]:
    row, comparison = result.rows[index], result.comparison
    is_reference = index == comparison.reference
    values = ["" if (spread := row.spread(metric)) is None else spread.text for metric in metrics]
    seconds, against = row.seconds(), result.against_reference(index)
    difference = "*" if is_reference else "" if against is None else f"{against.mean:+.4f} ± {against.std:.4f}"
    counts = ["" if seconds is None else f"{seconds.mean:.1f}", str(len(row.finished))]
    return [row.point.model, comparison.values[index], *values, *counts, difference]


def _comparison_json(result: ComparisonResult) -> dict[str, Any]:
    comparison = result.comparison
    points = []
    for index, row in enumerate(result.rows):
        against = result.against_reference(index)
        difference = None if against is None else {"mean": against.mean, "std": against.std, "runs": against.count}
        points.append(
            {"value": comparison.values[index], **row.to_json(), f"{COMPARED_METRIC}_against_reference": difference}
        )
    reference = comparison.values[comparison.reference]
    return {"axis": comparison.axis, "name": comparison.name, "reference": reference, "points": points}
