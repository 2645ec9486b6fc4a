"""The page of the suite: Markdown for people, JSON with all figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gtea.experiments.defaults.standing import BY_CHANCE, CALIBRATION, CANDIDATES, MAJORITY, RANKING, Standing
from gtea.experiments.defaults.suite import SuiteResult, TableResult
from gtea.experiments.defaults.suite_tables import GROUPS
from gtea.experiments.result_page import environment_lines, image_lines, markdown_table, write_page
from gtea.models.registry import DEFAULT_MODEL

_TITLES = {None: "average precision", "log_likelihood": "log-likelihood", "macro_f1": "macro-F1"}
"""The metrics that are compared. None is the first of each table."""
_READ = (
    f"Every table with no setting. {DEFAULT_MODEL} is the default model; network and trees are its halves, each alone;",
    "tree and strong-tree are its rivals; majority always answers the class shares of training. Figures are means over",
    "the seeds, on the test part. Difference: the default minus the better of its two rivals, with a 95 % interval by",
    "a paired bootstrap over test examples. A table is level if the interval includes zero. Of forty tables without a",
    "difference, one seems ahead and one seems behind by chance. The scale of the picture is linear up to 0.01 and",
    "logarithmic beyond.",
    "",
    "Choose on validation. Look at this page once per decision, and don't tune on it: it shows test parts.",
)


def write_defaults(path: Path, result: SuiteResult, options: Sequence[str]) -> list[Path]:
    """Write the results so far as Markdown and JSON and return both paths.

    Args:
        path: Path without a suffix.
        options: The options of the command that decide about results.
    """
    return write_page(path, _page(path.name, result, options), defaults_json(result))


def defaults_json(result: SuiteResult) -> dict[str, Any]:
    """Everything as JSON."""
    verdicts = {metric or "ranking": result.verdicts(metric) for metric in _TITLES}
    return {"seeds": list(result.seeds), "verdicts": verdicts, "tables": [_table_json(each) for each in result.tables]}


def summary_lines(result: SuiteResult) -> list[str]:
    """One line per metric: in how many tables the default is ahead, level and behind, and which are the last."""
    return [f"By {_title(metric, result)}: {_summary(result, metric)}." for metric in _TITLES]


def table_lines(result: SuiteResult, metric: str | None = None) -> list[str]:
    """The table of one metric as Markdown lines.

    Args:
        metric: The metric; None for the first of each table.
    """
    header = ["table", "test examples", *CANDIDATES, "difference", "95 % interval", "verdict"]
    return markdown_table(header, _with_groups(result, len(header), lambda standing: _cells(standing, metric)))


def skipped_lines(result: SuiteResult) -> list[str]:
    """The tables that are skipped, and why."""
    reasons = {each.table.name: each.check.reason for each in result.tables if each.check.reason is not None}
    return [f"{name}: skipped. {reason[0].upper()}{reason[1:].rstrip('.')}." for name, reason in reasons.items()]


def _page(name: str, result: SuiteResult, options: Sequence[str]) -> list[str]:
    lines = [
        "# The default model against trees",
        "",
        f"    {' '.join(['gtea reproduce defaults', *options])}",
        "",
        *(line for summary in summary_lines(result) for line in (summary, "")),
        *(image_lines("Difference to the best tree in every table", name) if result.compared else []),
        *_READ,
        "",
    ]
    for metric in _TITLES:
        title = _title(metric, result)
        lines += [f"## {title[0].upper()}{title[1:]}", "", *table_lines(result, metric), ""]
    lines += _calibration_lines(result)
    for title, notes in (
        ("Skipped", skipped_lines(result)),
        ("Not finished", _unfinished(result)),
        ("What the splits can't show", _warnings(result)),
    ):
        found = list(notes)
        lines += [f"## {title}", "", *(f"- {note}" for note in found), ""] if found else []
    outcomes = [outcome for each in result.tables for outcome in each.outcomes]
    return [*lines, *(f"- {line}" for line in environment_lines(outcomes))]


def _title(metric: str | None, result: SuiteResult) -> str:
    several = metric is None and any(standing.ranking == RANKING[1] for _, standing in result.compared)
    return f"{_TITLES[metric]}{' (accuracy with more than two classes)' if several else ''}"


def _summary(result: SuiteResult, metric: str | None) -> str:
    verdicts = result.verdicts(metric)
    total = len(result.compared)
    tables = "1 table" if total == 1 else f"{total} tables"
    behind = f": {', '.join(verdicts['behind'])}" if verdicts["behind"] else ""
    ahead, level = len(verdicts["ahead"]), len(verdicts["level"])
    return f"ahead in {ahead} of {tables}, level in {level}, behind in {len(verdicts['behind'])}{behind}"


def _with_groups(result: SuiteResult, width: int, cells_of: Any) -> Iterator[list[str]]:
    """The rows of a table, each group under its title."""
    for group, title in GROUPS.items():
        found = [each for each in result.tables if each.table.group == group and each.standing is not None]
        if found:
            yield [f"**{title}**", *[""] * (width - 1)]
        for each in found:
            yield [_shown_name(each, result), *cells_of(each.standing)]


def _shown_name(found: TableResult, result: SuiteResult) -> str:
    """The name of a table, and how many seeds it has if some are missing."""
    assert found.standing is not None
    done, asked = len(found.standing.runs), len(result.seeds)
    return found.table.name if done == asked else f"{found.table.name} ({done} of {asked} seeds)"


def _cells(standing: Standing, metric: str | None) -> list[str]:
    chosen = metric or standing.ranking
    found = standing.differences[chosen]
    interval = found.interval
    verdict = f"**{found.verdict}**" if found.verdict == "behind" else found.verdict
    bounds = f"{interval.low:+.4f} to {interval.high:+.4f}"
    figures = [_figure(standing, model, chosen) for model in CANDIDATES]
    return [_examples(standing), *figures, f"{interval.value:+.4f}", bounds, f"{verdict} ({found.rival})"]


def _figure(standing: Standing, model: str, metric: str) -> str:
    mean = standing.mean(model, metric)
    return "" if mean is None else f"{mean:.4f}"


def _examples(standing: Standing) -> str:
    if standing.num_positive is None:
        return f"{standing.num_examples:,}"
    return f"{standing.num_examples:,} ({standing.num_positive:,} positive)"


def _calibration_lines(result: SuiteResult) -> list[str]:
    shown = [name for name in CANDIDATES if name != MAJORITY]
    found = SuiteResult(
        result.seeds,
        tuple(
            each
            for each in result.tables
            if each.standing is not None and each.standing.mean(DEFAULT_MODEL, CALIBRATION) is not None
        ),
    )
    if not found.tables:
        return []

    def cells(standing: Standing) -> list[str]:
        errors = [_figure(standing, model, CALIBRATION) for model in shown]
        return [*errors, _figure(standing, DEFAULT_MODEL, BY_CHANCE)]

    rows = _with_groups(found, len(shown) + 2, cells)
    return [
        "## Calibration error",
        "",
        "Expected calibration error of the tables whose test part has 500 examples. The halves are not calibrated.",
        f"By chance: what {DEFAULT_MODEL} would have in a test part of this size if its probabilities were right.",
        "",
        *markdown_table(["table", *shown, "by chance"], rows),
        "",
    ]


def _unfinished(result: SuiteResult) -> Iterator[str]:
    for each in result.tables:
        for outcome in each.outcomes:
            if outcome.state == "failed":
                yield f"{each.table.name}, {outcome.model}, {outcome.label}: failed. {outcome.reason}"
        if each.check.reason is None and each.standing is None:
            yield f"{each.table.name}: no seed has all its models yet."


def _warnings(result: SuiteResult) -> Iterator[str]:
    for each in result.tables:
        if each.check.reason is None:
            yield from (f"{each.table.name}: {warning.text}." for warning in each.check.warnings)


def _table_json(found: TableResult) -> dict[str, Any]:
    check, standing = found.check, found.standing
    return {
        "name": found.table.name,
        "group": found.table.group,
        "task": found.table.subject.task,
        "skipped": check.reason,
        "warnings": [warning.to_json() for warning in check.warnings],
        "failed": [f"{each.model}, {each.label}: {each.reason}" for each in found.outcomes if each.state == "failed"],
        "seconds": _seconds(found),
        **({} if standing is None else standing.to_json()),
    }


def _seconds(found: TableResult) -> dict[str, list[float]]:
    """How long each training took, by model."""
    seconds: dict[str, list[float]] = {}
    for outcome in found.outcomes:
        seconds.setdefault(outcome.model, []).append(outcome.seconds)
    return seconds
