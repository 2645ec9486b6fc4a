"""What ``gtea reproduce`` shows while it trains."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gtea.cli.bars import percent_bar, say_above, training_figures
from gtea.cli.terminal import warn

if TYPE_CHECKING:
    from gtea.experiments.runs.run_jobs import JobListener, JobStatus


@contextlib.contextmanager
def run_lines() -> Iterator[JobListener]:
    """A line on standard error for every finished run; on a terminal also a bar for the running one."""
    if not sys.stderr.isatty():
        yield lambda standing: warn(run_line(standing)) if standing.outcome else None
        return
    with percent_bar() as bar:
        task = bar.add_task("runs", total=None, figures="")

        def show(standing: JobStatus) -> None:
            if standing.outcome is not None:
                say_above(bar, run_line(standing))
            job, done = standing.job, len(standing.outcomes)
            label = f"{done}/{standing.total} runs" if job is None else f"{job.label}, {job.repeat.label}"
            figures = "" if standing.report is None else training_figures(standing.report)
            completed = done + standing.under_way
            bar.update(task, total=standing.total, completed=completed, description=label, figures=figures)

        yield show


def run_line(standing: JobStatus) -> str:
    """A run that has ended, and where the experiment stands."""
    outcome, job = standing.outcome, standing.job
    assert outcome is not None
    assert job is not None
    shown = [
        f"{name.replace('_', ' ')} {outcome.test[name]:.4f}"
        for name in ("accuracy", "macro_f1")
        if name in outcome.test
    ]
    figures = ", ".join(shown) if outcome.state == "finished" else f"failed: {outcome.reason}"
    left = "" if not standing.seconds_left else f"; about {duration(standing.seconds_left)} left"
    count = f"[{len(standing.outcomes):>{len(str(standing.total))}}/{standing.total}]"
    return f"{count} {outcome.data} {job.label}, {outcome.label}: {figures}, {outcome.seconds:.0f} s{left}"


def duration(seconds: float) -> str:
    """A time span for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
