"""Tables and what stands above and below them, as Markdown."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gtea.experiments.drawing import can_draw
from gtea.experiments.paper.jobs import Outcome
from gtea.experiments.paper.plan import OWNED, Plan, has_folds
from gtea.experiments.paper.rows import Row
from gtea.experiments.paper.subject import Subject
from gtea.runtime.files import atomic_write, write_json
from gtea.tasks.link_split import GRAPH_FRACTION

_FEW = 4


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table whose first column is text and whose others are figures."""
    rule = ["---", *("---:" for _ in head[1:])]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]


def picture(title: str, name: str) -> list[str]:
    """A picture that stands beside the page, where one can be drawn."""
    return [f"![{title}]({name}.png)", ""] if can_draw() else []


def command(what: str, subject: Subject, plan: Plan, more: Sequence[str] = ()) -> str:
    """The command that makes a page again, without what is a user's own business: where to and how many at a time."""
    labels = "" if subject.labels is None else f" --labels {subject.labels.name}"
    data = f"--store {subject.store.name}{labels}" if subject.own else f"--data {subject.name}"
    seed = [f"--seed {plan.seed}"] if plan.seed else []
    config = [f"--config {plan.config.name}"] if plan.config else []
    settings = [f"--set {setting}" for setting in plan.settings]
    words = ["gtea reproduce", what, data, f"--protocol {plan.protocol}", f"--folds {plan.folds}"]
    return " ".join([*words, *seed, *more, *config, *settings])


def how_it_was_measured(subject: Subject, plan: Plan, rows: Sequence[Row]) -> list[str]:
    """What the runs of a row differ in, what the parts are, and what figures of links mean."""
    spread = "Mean ± sample standard deviation of the test part's figures over"
    if has_folds(subject.task, plan.protocol):
        lines = [
            f"{spread} {plan.folds} stratified folds: fold i tests, the next one validates, the others train. All see "
            "the same graph."
        ]
    else:
        seeds = f"seed {plan.seed}" if plan.folds == 1 else f"seeds {plan.seed} to {plan.seed + plan.folds - 1}"
        lines = [f"{spread} {seeds}. The split is by time, and the same in all of them: {_split(plan, rows)}"]
    if subject.task == "links":
        lines.append(
            "For each positive there is one negative, drawn anew with each seed, for the test part too. Accuracy and "
            "macro-F1 are at the threshold that does best on the validation part."
        )
    return [*lines, *_parts(rows)]


def _split(plan: Plan, rows: Sequence[Row]) -> str:
    job = rows[0].jobs[0]
    train, choose, judge = (f"{100 * share:g} %" for share in job.config.split.fractions)
    if job.subject.task == "nodes":
        return (
            f"of the accounts in the order of their first events, the first {train} train, the next {choose} choose, "
            f"the last {judge} judge, and each part sees the graph as of its own end."
        )
    graph = f"{100 * GRAPH_FRACTION:g} %"
    sees = "its own start" if plan.protocol == "temporal" else "the end of the graph"
    return (
        f"the first {graph} of the events are the graph; of the others, the first {train} train, the next {choose} "
        f"choose, the last {judge} judge, and each window sees the graph as of {sees}."
    )


def _parts(rows: Sequence[Row]) -> list[str]:
    outcome = next((outcome for row in rows for outcome in row.outcomes), None)
    if outcome is None:
        return []
    sizes = []
    for part in ("train", "validation", "test"):
        facts = outcome.split[part]
        what = "pairs" if "pairs" in facts else "accounts"
        sizes.append(f"{part} {facts[what]:,} {what}{_classes(facts)}")
    return [f"Parts ({outcome.label}): {', '.join(sizes)}."]


def _classes(facts: Mapping[str, Any]) -> str:
    """How many there are of each class, if somebody would read it."""
    classes = facts.get("classes", {})
    if not 0 < len(classes) <= _FEW:
        return ""
    return f" ({', '.join(f'{count:,} {name}' for name, count in classes.items())})"


def settings_lines(rows: Sequence[Row]) -> list[str]:
    """What differs from gtea's defaults: in all rows, and in single ones."""
    per_row = [{name: json.dumps(value) for name, value in row.jobs[0].settings.items()} for row in rows]
    common = {name: value for name, value in per_row[0].items() if all(each.get(name) == value for each in per_row)}
    rows_with: dict[str, list[str]] = {}
    for row, settings in zip(rows, per_row, strict=True):
        own = _shown({name: value for name, value in settings.items() if name not in common})
        if own:
            rows_with.setdefault(own, []).append(row.point.label)
    lines = [f"Settings besides gtea's defaults: {_shown(common) or 'none'}."]
    return [*lines, *(f"{', '.join(labels)} also: {own}." for own, labels in rows_with.items())]


def _shown(settings: dict[str, str]) -> str:
    return ", ".join(f"`{name}={value}`" for name, value in settings.items() if name not in OWNED)


def environment_lines(rows: Sequence[Row]) -> list[str]:
    """What computed, and when."""
    outcomes = [outcome for row in rows for outcome in row.outcomes]
    if not outcomes:
        return []
    threads = sorted({outcome.threads for outcome in outcomes})
    last = max(outcomes, key=lambda outcome: outcome.created)
    versions = ", ".join(f"{name} {last.versions[name]}" for name in ("gtea", "torch"))
    count = " or ".join(map(str, threads))
    plural = "" if threads == [1] else "s"
    return [
        f"Computed with {count} thread{plural} a run ({_arithmetic(outcomes)}), {versions}; the last run ended on "
        f"{_day(last.created)}."
    ]


def _arithmetic(outcomes: Sequence[Outcome]) -> str:
    return " or ".join(sorted({outcome.arithmetic for outcome in outcomes}))


def _day(created: str) -> str:
    day = dt.datetime.fromisoformat(created)
    return f"{day.day} {day:%B %Y}"


def failures(rows: Sequence[Row]) -> list[str]:
    """Runs without figures, and why."""
    return [
        f"{row.point.label}, {outcome.label}: no figures. {outcome.reason}"
        for row in rows
        for outcome in row.outcomes
        if outcome.state == "failed"
    ]


def write_page(path: Path, lines: Sequence[str], content: dict[str, Any]) -> list[Path]:
    """Write a page as Markdown and what it is made from as JSON, and say where.

    Args:
        path: Without a suffix.
    """
    paths = [path.with_name(f"{path.name}{suffix}") for suffix in (".md", ".json")]
    with atomic_write(paths[0]) as stream:
        stream.write(("\n".join(lines) + "\n").encode())
    write_json(paths[1], content)
    return paths
