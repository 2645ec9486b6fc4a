"""Reproduce Table 1: all models and baselines, next to the paper's results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gtea.experiments.paper.page import computed_lines, protocol_lines, reproduce_command, settings_lines
from gtea.experiments.paper.paper_results import PaperColumn, paper_column
from gtea.experiments.paper.plan import Plan
from gtea.experiments.paper.rows import METRICS, Row, shown_metrics
from gtea.experiments.result_page import image_lines, markdown_table, write_page
from gtea.experiments.runs.subject import Subject


def write_table(path: Path, subject: Subject, plan: Plan, rows: Sequence[Row], models: Sequence[str]) -> list[Path]:
    """Write the results so far as Markdown and JSON and return both paths.

    Args:
        path: Path without a suffix.
        models: The models of the --models option.
    """
    return write_page(path, _page(path.name, subject, plan, rows, models), table_json(subject, plan, rows))


def table_json(subject: Subject, plan: Plan, rows: Sequence[Row]) -> dict[str, Any]:
    """The table as JSON."""
    paper = paper_column(subject.name)
    return {
        "data": subject.name,
        "task": subject.task,
        "protocol": plan.protocol,
        "folds": plan.folds,
        "seed": plan.seed,
        "paper": None if paper is None else {"name": paper.name, "note": paper.note, "same": paper.same},
        "rows": [{**row.to_json(), "paper": _paper_values(paper, row)} for row in rows],
    }


def table_lines(rows: Sequence[Row], paper: PaperColumn | None) -> list[str]:
    """The table as Markdown lines."""
    metrics = shown_metrics(rows)
    header = ["model"]
    for metric in metrics:
        header += [
            METRICS[metric],
            *([f"paper, {paper.label}"] if paper and metric in ("accuracy", "macro_f1") else []),
        ]
    best = {metric: _best(rows, metric) for metric in metrics}
    return markdown_table([*header, "seconds", "runs"], [_cells(row, metrics, best, paper) for row in rows])


def _page(name: str, subject: Subject, plan: Plan, rows: Sequence[Row], models: Sequence[str]) -> list[str]:
    paper = paper_column(subject.name)
    targets = "accounts" if subject.task == "nodes" else "future links"
    options = [f"--models {' '.join(models)}"] if models else []
    lines = [
        f"# Table 1: {targets} of {subject.name}, protocol {plan.protocol}",
        "",
        f"    {reproduce_command('table1', subject, plan, options)}",
        "",
        *table_lines(rows, paper),
        "",
        *image_lines("Mean and standard deviation of every model", name),
        *protocol_lines(subject, plan, rows),
        "The best value of each column is in bold. Seconds are the mean time of one run, training and evaluation.",
    ]
    if paper is not None:
        lines.append(f"The paper's results are for its data set {paper.name}: {paper.note}.")
        if plan.protocol != "paper":
            lines.append("They use the paper's split, so compare them with protocol paper.")
    return [
        *lines,
        "",
        *(f"- {line}" for line in (*settings_lines(rows), *computed_lines(rows))),
    ]


def _cells(row: Row, metrics: Sequence[str], best: dict[str, str | None], paper: PaperColumn | None) -> list[str]:
    cells = [row.point.label]
    for metric in metrics:
        spread = row.spread(metric)
        text = "" if spread is None else spread.text
        is_best = spread is not None and f"{spread.mean:.4f}" == best[metric]
        cells.append(f"**{text}**" if is_best else text)
        if paper and metric in ("accuracy", "macro_f1"):
            value = paper.value(metric, row.point.model)
            cells.append("" if value is None else f"{value:.4f}")
    seconds = row.seconds()
    failed = f", {row.failed} failed" if row.failed else ""
    return [*cells, "" if seconds is None else f"{seconds.mean:.1f}", f"{len(row.finished)}{failed}"]


def _best(rows: Sequence[Row], metric: str) -> str | None:
    """The highest mean, rounded as in the table, so that ties are all marked."""
    means = [spread.mean for row in rows if (spread := row.spread(metric)) is not None]
    return f"{max(means):.4f}" if means else None


def _paper_values(paper: PaperColumn | None, row: Row) -> dict[str, float]:
    if paper is None:
        return {}
    values = {metric: paper.value(metric, row.point.model) for metric in ("accuracy", "macro_f1")}
    return {metric: value for metric, value in values.items() if value is not None}
