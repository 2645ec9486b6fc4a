"""What the pages of the paper's experiments say about their runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gtea.experiments.paper.plan import RESERVED_SETTINGS, Plan, has_folds
from gtea.experiments.paper.rows import Row
from gtea.experiments.result_page import environment_lines
from gtea.experiments.runs.subject import Subject
from gtea.tasks.link_split import GRAPH_FRACTION

_MAX_CLASSES = 4


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


def computed_lines(rows: Sequence[Row]) -> list[str]:
    """How the runs were computed, and which of them failed."""
    return [*environment_lines([outcome for row in rows for outcome in row.outcomes]), *_failure_lines(rows)]


def _failure_lines(rows: Sequence[Row]) -> list[str]:
    """Failed runs and their reasons."""
    return [
        f"{row.point.label}, {outcome.label}: failed. {outcome.reason}"
        for row in rows
        for outcome in row.outcomes
        if outcome.state == "failed"
    ]
