"""What commands share: options, JSON, text that is safe to print, progress bars."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress

    from gtea.runtime.progress import Progress
    from gtea.training.loop import TrainingListener, TrainingReport

json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on standard output.")
memory_option = click.option(
    "--memory", default="4GB", show_default=True, metavar="SIZE", help="Stay within about this much memory."
)
bad_rows_option = click.option(
    "--bad-rows",
    type=click.Choice(["error", "skip", "quarantine"]),
    default="error",
    show_default=True,
    help="Rows that can't become events: stop and name them; leave them out, counted by reason; or also write them "
    "to STORE.bad_rows.csv.",
)
any_date_option = click.option(
    "--allow-any-date", is_flag=True, help="Accept dates before 1970 or more than a day ahead of now."
)
sampled_option = click.option(
    "--sampled", is_flag=True, help="Read a sample of the neighbours, as training does, instead of all: approximate."
)
cache_option = click.option(
    "--cache", metavar="DIR", help="Keep edge embeddings here, so that a killed run resumes and later runs reuse them."
)


def printable(text: str) -> str:
    """Text with control characters escaped: an account id must not be able to control the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def print_unknown(report: Mapping[str, Any]) -> None:
    """Print which accounts of a table were left out because the store does not have them."""
    unknown = report.get("unknown", {"accounts": 0})
    if unknown["accounts"]:
        more = ", ..." if unknown["accounts"] > len(unknown["first"]) else ""
        shown = printable(", ".join(map(repr, unknown["first"])))
        click.echo(f"left out: {unknown['accounts']:,} unknown accounts in {unknown['rows']:,} rows: {shown}{more}")


def print_warnings(result: Mapping[str, Any]) -> None:
    """Print what the split of a training can't show, on standard error."""
    for warning in result.get("warnings", []):
        click.echo(printable(f"warning: {warning['text']}. {warning['remedy']}"), err=True)


def print_json(content: object) -> None:
    """Print JSON, indented, non-ASCII as it is."""
    click.echo(json.dumps(content, indent=2, ensure_ascii=False))


def given(name: str) -> bool:
    """Whether the user gave an option of the running command."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def split_names(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Callback of options that take COL,COL,..."""
    return tuple(name for name in (value or "").split(",") if name)


def names_option(flag: str, help: str) -> Callable[[Any], Any]:
    """An option that takes column names separated by commas."""
    return click.option(flag, callback=split_names, metavar="COL,COL", help=help)


@contextlib.contextmanager
def progress_bar() -> Iterator[Progress]:
    """A progress bar on standard error; silent if that is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda stage, done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def show(stage: str, done: float | None) -> None:
            if stage not in tasks:
                for earlier in tasks.values():
                    bar.update(earlier, total=1.0, completed=1.0)
                tasks[stage] = bar.add_task(printable(stage), total=None)
            if done is not None:
                bar.update(tasks[stage], total=1.0, completed=done)

        yield show


@contextlib.contextmanager
def training_bar() -> Iterator[TrainingListener]:
    """A progress bar for training on standard error; silent if that is not a terminal.

    The time left is that of all epochs; training may stop earlier.
    """
    from gtea.training.loop import no_report

    if not sys.stderr.isatty():
        yield no_report
        return
    from rich.console import Console

    with percent_bar(Console(stderr=True)) as bar:
        task = bar.add_task("preparing", total=None, figures="")

        def show(report: TrainingReport) -> None:
            done = (report.epoch + report.done) / report.epochs
            line = f"epoch {report.epoch + 1}/{report.epochs}"
            bar.update(task, total=1.0, completed=done, description=line, figures=training_figures(report))

        yield show


def percent_bar(console: Console) -> RichProgress:
    """A bar with percent, time so far, time left, and room for figures. Fits into 80 columns."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as TimeLeftColumn
    from rich.table import Column

    # What is left of 80 columns beside percent, two times, a name and figures; more in a wider terminal.
    width = max(10, min(40, console.width - 70))
    return Progress(
        TextColumn("{task.description}", table_column=Column(no_wrap=True)),
        BarColumn(bar_width=width),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeLeftColumn(compact=True),
        TextColumn("{task.fields[figures]}", table_column=Column(no_wrap=True)),
        console=console,
        transient=True,
    )


def training_figures(report: TrainingReport) -> str:
    """The figures of a training in few characters."""
    best = "" if report.best is None else f" best {report.best:.4f}"
    return f"loss {report.loss:.4f}{best}"
