"""Table 1 of the paper, measured: every model beside a tree, and beside what the paper says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
from gtea.experiments.paper.paper_figures import PaperColumn, paper_column
from gtea.experiments.paper.plan import Plan
from gtea.experiments.paper.rows import METRICS, Row, shown_metrics
from gtea.experiments.paper.subject import Subject


def write_table(path: Path, subject: Subject, plan: Plan, rows: Sequence[Row], models: Sequence[str]) -> list[Path]:
    """Write the table as Markdown and as JSON, as far as it is known, and say where.

    Args:
        path: Without a suffix.
        models: Those that were asked for by name.
    """
    return write_page(path, _page(path.name, subject, plan, rows, models), table_json(subject, plan, rows))


def table_json(subject: Subject, plan: Plan, rows: Sequence[Row]) -> dict[str, Any]:
    """The table for machines."""
    paper = paper_column(subject.name)
    return {
        "data": subject.name,
        "task": subject.task,
        "protocol": plan.protocol,
        "folds": plan.folds,
        "seed": plan.seed,
        "paper": None if paper is None else {"name": paper.name, "note": paper.note, "same": paper.same},
        "rows": [{**row.to_json(), "paper": _paper_figures(paper, row)} for row in rows],
    }


def table_lines(rows: Sequence[Row], paper: PaperColumn | None) -> list[str]:
    """The table alone."""
    metrics = shown_metrics(rows)
    head = ["model"]
    for metric in metrics:
        head += [METRICS[metric], *([f"paper, {paper.label}"] if paper and metric in ("accuracy", "macro_f1") else [])]
    best = {metric: _best(rows, metric) for metric in metrics}
    return markdown_table([*head, "seconds", "runs"], [_cells(row, metrics, best, paper) for row in rows])


def _page(name: str, subject: Subject, plan: Plan, rows: Sequence[Row], models: Sequence[str]) -> list[str]:
    paper = paper_column(subject.name)
    what = "accounts" if subject.task == "nodes" else "future links"
    chosen = [f"--models {' '.join(models)}"] if models else []
    lines = [
        f"# Table 1: {what} of {subject.name}, protocol {plan.protocol}",
        "",
        f"    {command('table1', subject, plan, chosen)}",
        "",
        *table_lines(rows, paper),
        "",
        *picture("Every model's figures and their spread", name),
        *how_it_was_measured(subject, plan, rows),
        "The highest of each column is in bold; seconds are those of one run, training and judging.",
    ]
    if paper is not None:
        lines.append(f"The paper's figures are those of its {paper.name}: {paper.note}.")
        if plan.protocol != "paper":
            lines.append("They were measured by the paper's split: hold them against protocol paper.")
    return [*lines, "", *(f"- {line}" for line in (*settings_lines(rows), *environment_lines(rows), *failures(rows)))]


def _cells(row: Row, metrics: Sequence[str], best: dict[str, str | None], paper: PaperColumn | None) -> list[str]:
    cells = [row.point.label]
    for metric in metrics:
        spread = row.spread(metric)
        text = "" if spread is None else spread.text
        is_best = spread is not None and f"{spread.mean:.4f}" == best[metric]
        cells.append(f"**{text}**" if is_best else text)
        if paper and metric in ("accuracy", "macro_f1"):
            figure = paper.figure(metric, row.point.model)
            cells.append("" if figure is None else f"{figure:.4f}")
    seconds = row.seconds()
    failed = f", {row.failed} failed" if row.failed else ""
    return [*cells, "" if seconds is None else f"{seconds.mean:.1f}", f"{len(row.finished)}{failed}"]


def _best(rows: Sequence[Row], metric: str) -> str | None:
    """The highest mean as it is shown: what can't be told apart is best together."""
    means = [spread.mean for row in rows if (spread := row.spread(metric)) is not None]
    return f"{max(means):.4f}" if means else None


def _paper_figures(paper: PaperColumn | None, row: Row) -> dict[str, float]:
    if paper is None:
        return {}
    figures = {metric: paper.figure(metric, row.point.model) for metric in ("accuracy", "macro_f1")}
    return {metric: figure for metric, figure in figures.items() if figure is not None}
