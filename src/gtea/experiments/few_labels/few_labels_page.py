"""The page of the learning curves: Markdown for people, JSON with all figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gtea.experiments.defaults.standing import Standing
from gtea.experiments.few_labels.learning_curves import CurvesResult, SizeResult
from gtea.experiments.few_labels.paired_draws import COMPARED, METRICS
from gtea.experiments.result_page import environment_lines, image_lines, markdown_table, write_page
from gtea.experiments.runs.few_labels_request import MAX_TEST
from gtea.models.registry import DEFAULT_MODEL

_READ = (
    "So many labelled accounts of each class are drawn at random, and no other label is used: a quarter of them",
    f"validates, and {MAX_TEST:,} of the other accounts at most are the test. All are seen as of the end of the graph.",
    f"{DEFAULT_MODEL} is the default model; tree and strong-tree are its rivals; none has a setting but its seed.",
    "Figures are means over the draws. Difference: the default minus the rival with the higher mean, paired by draw,",
    "with Student's 95 % interval over the draws. It is about which accounts are labelled, not about other data.",
    "Of forty comparisons without a difference, one seems ahead and one seems behind by chance.",
    "The scale of the picture is that of log-odds: from 0.9 to 0.99 is about as far as from 0.5 to 0.9.",
    "",
    "Labels are drawn balanced, and test accounts have the shares that they have. So probabilities are right for equal",
    "classes, and in the log-likelihood each class has half of the weight. Macro-F1 is at the decisions of each model.",
)


def write_few_labels(path: Path, result: CurvesResult, options: Sequence[str]) -> list[Path]:
    """Write the results so far as Markdown and JSON and return both paths.

    Args:
        path: Path without a suffix.
        options: The options of the command that decide about results.
    """
    return write_page(path, _page(path.name, result, options), few_labels_json(result))


def few_labels_json(result: CurvesResult) -> dict[str, Any]:
    """Everything as JSON."""
    verdicts = {metric: result.verdicts(metric) for metric in METRICS}
    return {"draws": result.num_draws, "verdicts": verdicts, "sizes": [_size_json(each) for each in result.sizes]}


def verdict_lines(result: CurvesResult) -> list[str]:
    """One line per metric: at how many sizes the default is ahead, level and behind, and which are the last."""
    return [f"By {title}: {_verdicts(result, metric)}." for metric, title in METRICS.items()]


def curve_lines(result: CurvesResult, metric: str) -> list[str]:
    """The table of one metric as Markdown lines."""
    header = ["data", "labels per class", "test accounts", *COMPARED, "difference", "95 % interval", "verdict"]
    return markdown_table(header, (_cells(result, each, standing, metric) for each, standing in result.compared))


def _page(name: str, result: CurvesResult, options: Sequence[str]) -> list[str]:
    lines = [
        "# The default model against trees with few labels",
        "",
        f"    {' '.join(['gtea reproduce few-labels', *options])}",
        "",
        *(line for verdict in verdict_lines(result) for line in (verdict, "")),
        *(image_lines("Average precision by the number of labels", name) if result.compared else []),
        *_READ,
        "",
    ]
    for metric, title in METRICS.items():
        lines += [f"## {title[0].upper()}{title[1:]}", "", *curve_lines(result, metric), ""]
    missing = list(_unfinished(result))
    lines += ["## Not finished", "", *(f"- {note}" for note in missing), ""] if missing else []
    outcomes = [outcome for each in result.sizes for outcome in each.outcomes]
    return [*lines, *(f"- {line}" for line in environment_lines(outcomes))]


def _verdicts(result: CurvesResult, metric: str) -> str:
    verdicts, total = result.verdicts(metric), len(result.compared)
    sizes = "1 size" if total == 1 else f"{total} sizes"
    behind = f": {', '.join(verdicts['behind'])}" if verdicts["behind"] else ""
    ahead, level = len(verdicts["ahead"]), len(verdicts["level"])
    return f"ahead at {ahead} of {sizes}, level at {level}, behind at {len(verdicts['behind'])}{behind}"


def _cells(result: CurvesResult, size: SizeResult, standing: Standing, metric: str) -> list[str]:
    found = standing.differences[metric]
    interval = found.interval
    done = "" if len(standing.runs) == result.num_draws else f" ({len(standing.runs)} of {result.num_draws} draws)"
    verdict = f"**{found.verdict}**" if found.verdict == "behind" else found.verdict
    return [
        size.data,
        f"{size.per_class:,}{done}",
        f"{standing.num_examples:,} ({standing.num_positive:,} positive)",
        *(f"{standing.mean(model, metric):.4f}" for model in COMPARED),
        f"{interval.value:+.4f}",
        f"{interval.low:+.4f} to {interval.high:+.4f}",
        f"{verdict} ({found.rival})",
    ]


def _unfinished(result: CurvesResult) -> Iterator[str]:
    for each in result.sizes:
        for outcome in each.outcomes:
            if outcome.state == "failed":
                yield f"{each.data}, {outcome.model}, {outcome.label}: failed. {outcome.reason}"
        if each.standing is None:
            yield f"{each.name}: fewer than two draws have all their models."


def _size_json(size: SizeResult) -> dict[str, Any]:
    failed = [f"{each.model}, {each.label}: {each.reason}" for each in size.outcomes if each.state == "failed"]
    standing = {} if size.standing is None else size.standing.to_json()
    return {"data": size.data, "per_class": size.per_class, "failed": failed, **standing}
