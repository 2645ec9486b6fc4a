"""Markdown building blocks of result pages, and the files of a page."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from gtea.experiments.drawing import can_draw
from gtea.experiments.runs.jobs import Outcome
from gtea.runtime.files import atomic_write, write_json


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table: the first column is text, the others are numbers."""
    rule = ["---", *("---:" for _ in header[1:])]
    return [f"| {' | '.join(cells)} |" for cells in (header, rule, *rows)]


def image_lines(title: str, name: str) -> list[str]:
    """A Markdown image of the figure next to the page; empty if Matplotlib is not installed."""
    return [f"![{title}]({name}.png)", ""] if can_draw() else []


def environment_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """Threads, kernels, versions and date of the runs."""
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
