"""Write the distribution of attention weights as Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gtea.experiments.paper.attention import EDGES, SMALL, AttentionResult, WeightSummary
from gtea.experiments.paper.page import computed_lines, reproduce_command, settings_lines
from gtea.experiments.paper.paper_results import paper_column
from gtea.experiments.paper.plan import Plan, has_folds
from gtea.experiments.paper.rows import Spread
from gtea.experiments.result_page import image_lines, markdown_table, write_page
from gtea.experiments.runs.subject import Subject

_HEADER = (
    *("model", "attention", "accounts", "neighbours", "exactly zero", "exactly zero, per account"),
    *(f"below {SMALL}", "effective neighbours", "test macro-F1", "runs"),
)


def write_attention(
    path: Path, subject: Subject, plan: Plan, results: Sequence[AttentionResult], models: Sequence[str]
) -> list[Path]:
    """Write the page as Markdown and JSON and return both paths.

    Args:
        path: Path without a suffix.
        models: The models of the --models option.
    """
    return write_page(path, _page(path.name, subject, plan, results, models), attention_json(subject, plan, results))


def attention_json(subject: Subject, plan: Plan, results: Sequence[AttentionResult]) -> dict[str, Any]:
    """The results of every run as JSON."""
    rows = [
        {
            **result.row.to_json(),
            "attention": result.kind,
            "weights": [{name: asdict(summary) for name, summary in run.items()} for run in result.weights],
        }
        for result in results
    ]
    header = {"data": subject.name, "task": subject.task, "protocol": plan.protocol, "folds": plan.folds}
    return {**header, "seed": plan.seed, "edges": EDGES.tolist(), "rows": rows}


def attention_lines(results: Sequence[AttentionResult]) -> list[str]:
    """The table as Markdown lines."""
    return markdown_table(_HEADER, [cells for result in results for cells in _rows(result)])


def _page(
    name: str, subject: Subject, plan: Plan, results: Sequence[AttentionResult], models: Sequence[str]
) -> list[str]:
    rows, paper = [result.row for result in results], paper_column(subject.name)
    accounts = "the test part's accounts" if subject.task == "nodes" else "the sources of the test part's links"
    options = [f"--models {' '.join(models)}"] if models else []
    lines = [
        f"# Distribution of attention weights: {subject.name}, protocol {plan.protocol}",
        "",
        f"    {reproduce_command('attention', subject, plan, options)}",
        "",
        *attention_lines(results),
        "",
        *image_lines("Distribution of attention weights", name),
        f"Exact weights of {accounts} over all neighbours before the part's cut. Mean ± sample standard deviation",
        f"over {plan.folds} {'folds' if has_folds(subject.task, plan.protocol) else 'seeds'}.",
        "A few hubs may have most of the neighbours. The share per account (with two neighbours or more) gives every",
        "account the same weight.",
        "Effective neighbours: 1 / sum of the squared weights, averaged over accounts.",
    ]
    if paper is not None and paper.zeroed is not None:
        lines.append(
            f"The paper reports for {paper.label}: sparse attention is zero for around {100 * paper.zeroed:.0f} % of "
            "the neighbours, and over 80 % of the weights of dense attention are small."
        )
    notes = (*settings_lines(rows), *computed_lines(rows))
    return [*lines, "", *(f"- {line}" for line in notes)]


def _rows(result: AttentionResult) -> Iterator[list[str]]:
    f1 = result.row.spread("macro_f1")
    for group in result.groups:
        summaries = [run[group] for run in result.weights]
        yield [
            result.row.point.model,
            result.kind,
            f"{group} ({_mean(summaries, 'accounts'):,.0f})",
            f"{_mean(summaries, 'neighbours'):,.0f}",
            *(_share(summaries, name) for name in ("zero", "zero_per_account", "small")),
            f"{_mean(summaries, 'effective'):.1f}",
            "" if f1 is None else f1.text,
            str(len(summaries)),
        ]


def _mean(summaries: Sequence[WeightSummary], name: str) -> float:
    return Spread.of([getattr(summary, name) for summary in summaries]).mean


def _share(summaries: Sequence[WeightSummary], name: str) -> str:
    spread = Spread.of([100 * getattr(summary, name) for summary in summaries])
    return f"{spread.mean:.1f} ± {spread.std:.1f} %" if spread.count > 1 else f"{spread.mean:.1f} %"
