"""The distributions of attention as a page and for machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gtea.experiments.paper.attention import EDGES, SMALL, Measured, WeightSummary
from gtea.experiments.paper.page import (
    command,
    environment_lines,
    failures,
    markdown_table,
    picture,
    settings_lines,
    write_page,
)
from gtea.experiments.paper.paper_figures import paper_column
from gtea.experiments.paper.plan import Plan, has_folds
from gtea.experiments.paper.rows import Spread
from gtea.experiments.paper.subject import Subject

_HEAD = (
    *("model", "attention", "accounts", "neighbours", "exactly zero", "exactly zero, per account"),
    *(f"below {SMALL}", "effective neighbours", "test macro-F1", "runs"),
)


def write_attention(
    path: Path, subject: Subject, plan: Plan, measured: Sequence[Measured], models: Sequence[str]
) -> list[Path]:
    """Write the page as Markdown and what it is made from as JSON, and say where.

    Args:
        path: Without a suffix.
        models: Those that were asked for by name.
    """
    return write_page(path, _page(path.name, subject, plan, measured, models), attention_json(subject, plan, measured))


def attention_json(subject: Subject, plan: Plan, measured: Sequence[Measured]) -> dict[str, Any]:
    """The same for machines, run by run."""
    rows = [
        {
            **each.row.to_json(),
            "attention": each.kind,
            "weights": [{name: asdict(found) for name, found in run.items()} for run in each.weights],
        }
        for each in measured
    ]
    head = {"data": subject.name, "task": subject.task, "protocol": plan.protocol, "folds": plan.folds}
    return {**head, "seed": plan.seed, "edges": EDGES.tolist(), "rows": rows}


def attention_lines(measured: Sequence[Measured]) -> list[str]:
    """The table alone."""
    return markdown_table(_HEAD, [cells for each in measured for cells in _rows(each)])


def _page(name: str, subject: Subject, plan: Plan, measured: Sequence[Measured], models: Sequence[str]) -> list[str]:
    rows, paper = [each.row for each in measured], paper_column(subject.name)
    whose = "the test part's accounts" if subject.task == "nodes" else "the sources of the test part's links"
    chosen = [f"--models {' '.join(models)}"] if models else []
    lines = [
        f"# How attention is distributed: {subject.name}, protocol {plan.protocol}",
        "",
        f"    {command('attention', subject, plan, chosen)}",
        "",
        *attention_lines(measured),
        "",
        *picture("The distributions of attention weights", name),
        f"Exact weights of {whose}, over all their neighbours before the part's cut; mean ± sample standard deviation",
        f"over {plan.folds} {'folds' if has_folds(subject.task, plan.protocol) else 'seeds'}.",
        "Most neighbours may be those of a few hubs; per account (with two neighbours or more) all count alike.",
        "Effective neighbours: 1 / sum of the squared weights, averaged over accounts.",
    ]
    if paper is not None and paper.zeroed is not None:
        lines.append(
            f"The paper says of its {paper.label}: sparse attention cuts off around {100 * paper.zeroed:.0f} % of the "
            "neighbours, and over 80 % of dense attention's weights are small."
        )
    notes = (*settings_lines(rows), *environment_lines(rows), *failures(rows))
    return [*lines, "", *(f"- {line}" for line in notes)]


def _rows(measured: Measured) -> Iterator[list[str]]:
    f1 = measured.row.spread("macro_f1")
    for group in measured.groups:
        found = [run[group] for run in measured.weights]
        yield [
            measured.row.point.model,
            measured.kind,
            f"{group} ({_mean(found, 'accounts'):,.0f})",
            f"{_mean(found, 'neighbours'):,.0f}",
            *(_share(found, name) for name in ("zero", "zero_per_account", "small")),
            f"{_mean(found, 'effective'):.1f}",
            "" if f1 is None else f1.text,
            str(len(found)),
        ]


def _mean(found: Sequence[WeightSummary], name: str) -> float:
    return Spread.of([getattr(weights, name) for weights in found]).mean


def _share(found: Sequence[WeightSummary], name: str) -> str:
    spread = Spread.of([100 * getattr(weights, name) for weights in found])
    return f"{spread.mean:.1f} ± {spread.std:.1f} %" if spread.count > 1 else f"{spread.mean:.1f} %"
