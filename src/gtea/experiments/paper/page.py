"""Markdown building blocks of result pages."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gtea.experiments.drawing import can_draw
from gtea.experiments.paper.plan import RESERVED_SETTINGS, Plan, has_folds
from gtea.experiments.paper.rows import Row
from gtea.experiments.runs.jobs import Outcome
from gtea.experiments.runs.subject import Subject
from gtea.runtime.files import atomic_write, write_json
from gtea.tasks.link_split import GRAPH_FRACTION

_MAX_CLASSES = 4


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table: the first column is text, the others are numbers."""
    rule = ["---", *("---:" for _ in header[1:])]
    return [f"| {' | '.join(cells)} |" for cells in (header, rule, *rows)]


def image_lines(title: str, name: str) -> list[str]:
    """A Markdown image of the figure next to the page; empty if Matplotlib is not installed."""
    return [f"![{title}]({name}.png)", ""] if can_draw() else []


def reproduce_command(experiment: str, subject: Subject, plan: Plan, options: Sequence[str] = ()) -> str:
    """The command that reproduces a page, without --out, --results and --jobs."""
    labels = "" if subject.labels is None else f" --labels {subject.labels.name}"
    data = f"--store {subject.store.name}{labels}" if subject.own else f"--data {subject.name}"
    seed = [f"--seed {plan.seed}"] if plan.seed else []
    config = [f"--config {plan.config.name}"] if plan.config else []
    settings = [f"--set {setting}" for setting in plan.settings]
    words = ["gtea reproduce", experiment, data, f"--protocol {plan.protocol}", f"--folds {plan.folds}"]
    return " ".join([*words, *seed, *options, *config, *settings])


def protocol_lines(subject: Subject, plan: Plan, rows: Sequence[Row]) -> list[str]:
    """Describe the folds or seeds, the split, and the negatives of link prediction."""
    spread = "Mean ± sample standard deviation on the test part over"
    if has_folds(subject.task, plan.protocol):
        lines = [
            f"{spread} {plan.folds} stratified folds: fold i is the test part, the next fold is the validation part, "
            "the others are the training part. All folds see the same graph."
        ]
    else:
        seeds = f"seed {plan.seed}" if plan.folds == 1 else f"seeds {plan.seed} to {plan.seed + plan.folds - 1}"
        lines = [f"{spread} {seeds}. All runs use the same temporal split: {_split(plan, rows)}"]
    if subject.task == "links":
        lines.append(
            "There is one negative per positive, drawn anew for each seed, in the test part too. Accuracy and macro-F1 "
            "use the threshold that is best on the validation part."
        )
    return [*lines, *_parts(rows)]


def _split(plan: Plan, rows: Sequence[Row]) -> str:
    job = rows[0].jobs[0]
    train, validation, test = (f"{100 * share:g} %" for share in job.config.split.fractions)
    if job.subject.task == "nodes":
        return (
            f"accounts in the order of their first events, the first {train} for training, the next {validation} for "
            f"validation, the last {test} for testing. Each part sees the graph as of its own end."
        )
    graph = f"{100 * GRAPH_FRACTION:g} %"
    sees = "its own start" if plan.protocol == "temporal" else "the end of the graph"
    return (
        f"the first {graph} of the events form the graph; of the others, the first {train} are for training, the next "
        f"{validation} for validation, the last {test} for testing. Each window sees the graph as of {sees}."
    )


def _parts(rows: Sequence[Row]) -> list[str]:
    outcome = next((outcome for row in rows for outcome in row.outcomes), None)
    if outcome is None:
        return []
    sizes = []
    for part in ("train", "validation", "test"):
        description = outcome.split[part]
        unit = "pairs" if "pairs" in description else "accounts"
        sizes.append(f"{part} {description[unit]:,} {unit}{_classes(description)}")
    return [f"Parts ({outcome.label}): {', '.join(sizes)}."]


def _classes(description: Mapping[str, Any]) -> str:
    """The size of each class, unless there are too many classes."""
    classes = description.get("classes", {})
    if not 0 < len(classes) <= _MAX_CLASSES:
        return ""
    return f" ({', '.join(f'{count:,} {name}' for name, count in classes.items())})"


def settings_lines(rows: Sequence[Row]) -> list[str]:
    """Settings that differ from gtea's defaults: those common to all rows, then those of single rows."""
    per_row = [{name: json.dumps(value) for name, value in row.jobs[0].settings.items()} for row in rows]
    common = {
        name: value for name, value in per_row[0].items() if all(settings.get(name) == value for settings in per_row)
    }
    rows_with: dict[str, list[str]] = {}
    for row, settings in zip(rows, per_row, strict=True):
        own = _formatted({name: value for name, value in settings.items() if name not in common})
        if own:
            rows_with.setdefault(own, []).append(row.point.label)
    lines = [f"Settings that differ from gtea's defaults: {_formatted(common) or 'none'}."]
    return [*lines, *(f"{', '.join(labels)} also: {own}." for own, labels in rows_with.items())]


def _formatted(settings: dict[str, str]) -> str:
    return ", ".join(f"`{name}={value}`" for name, value in settings.items() if name not in RESERVED_SETTINGS)


def environment_lines(rows: Sequence[Row]) -> list[str]:
    """Threads, kernels, versions and date of the runs."""
    outcomes = [outcome for row in rows for outcome in row.outcomes]
    if not outcomes:
        return []
    threads = sorted({outcome.threads for outcome in outcomes})
    last = max(outcomes, key=lambda outcome: outcome.created)
    versions = ", ".join(f"{name} {last.versions[name]}" for name in ("gtea", "torch"))
    count = " or ".join(map(str, threads))
    plural = "" if threads == [1] else "s"
    return [
        f"Computed with {count} thread{plural} per run ({_arithmetic(outcomes)}), {versions}. The last run ended on "
        f"{_day(last.created)}."
    ]


def _arithmetic(outcomes: Sequence[Outcome]) -> str:
    return " or ".join(sorted({outcome.arithmetic for outcome in outcomes}))


def _day(created: str) -> str:
    day = dt.datetime.fromisoformat(created)
    return f"{day.day} {day:%B %Y}"


def failure_lines(rows: Sequence[Row]) -> list[str]:
    """Failed runs and their reasons."""
    return [
        f"{row.point.label}, {outcome.label}: failed. {outcome.reason}"
        for row in rows
        for outcome in row.outcomes
        if outcome.state == "failed"
    ]


def write_page(path: Path, lines: Sequence[str], content: dict[str, Any]) -> list[Path]:
    """Write a page as Markdown and its data as JSON and return both paths.

    Args:
        path: Path without a suffix.
    """
    paths = [path.with_name(f"{path.name}{suffix}") for suffix in (".md", ".json")]
    with atomic_write(paths[0]) as stream:
        stream.write(("\n".join(lines) + "\n").encode())
    write_json(paths[1], content)
    return paths
