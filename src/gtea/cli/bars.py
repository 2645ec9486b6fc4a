"""Progress bars, with rich. Their words come out inert and on one line, like those of ``cli/terminal.py``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gtea.runtime.printable import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import ProgressColumn

    from gtea.runtime.progress import Progress
    from gtea.training.loop import TrainingListener, TrainingReport


def _words(field: str) -> ProgressColumn:
    """A column of text in which nothing is markup."""
    from rich.progress import Task, TextColumn
    from rich.text import Text

    class InertText(TextColumn):
        def render(self, task: Task) -> Text:
            return Text(printable(self.text_format.format(task=task)))

    return InertText(field)


def say_above(bar: RichProgress, line: str) -> None:
    """Print a line above a running bar."""
    from rich.text import Text

    bar.console.print(Text(printable(line)), soft_wrap=True)


@contextlib.contextmanager
def progress_bar() -> Iterator[Progress]:
    """A progress bar on standard error; silent if that is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda stage, done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TimeElapsedColumn

    columns = (SpinnerColumn(), _words("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def show(stage: str, done: float | None) -> None:
            if stage not in tasks:
                for earlier in tasks.values():
                    bar.update(earlier, total=1.0, completed=1.0)
                tasks[stage] = bar.add_task(stage, total=None)
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
    with percent_bar() as bar:
        task = bar.add_task("preparing", total=None, figures="")

        def show(report: TrainingReport) -> None:
            done = (report.epoch + report.done) / report.epochs
            line = f"epoch {report.epoch + 1}/{report.epochs}"
            bar.update(task, total=1.0, completed=done, description=line, figures=training_figures(report))

        yield show


def percent_bar(console: Console | None = None) -> RichProgress:
    """A bar with percent, time so far, time left, and room for figures. Fits into 80 columns."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as TimeLeftColumn

    console = console or Console(stderr=True)
    # What is left of 80 columns beside percent, two times, a name and figures; more in a wider terminal.
    width = max(10, min(40, console.width - 70))
    return Progress(
        _words("{task.description}"),
        BarColumn(bar_width=width),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeLeftColumn(compact=True),
        _words("{task.fields[figures]}"),
        console=console,
        transient=True,
    )


def training_figures(report: TrainingReport) -> str:
    """The figures of a training in few characters."""
    best = "" if report.best is None else f" best {report.best:.4f}"
    return f"loss {report.loss:.4f}{best}"
