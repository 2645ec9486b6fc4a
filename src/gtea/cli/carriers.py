"""The options of commands that can run on several processes or machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gtea.cli.output import given
from gtea.cli.terminal import say
from gtea.errors import UsageError

if TYPE_CHECKING:
    from gtea.experiments.runs.run_jobs import Crew

on_option = click.option(
    "--on",
    metavar="WHERE",
    help="Work in parts, to the same bytes: local:N (processes), array:K/N (job K of N that share a folder), "
    "ray, or ray:ADDRESS.",
)
parts_option = click.option(
    "--parts", type=click.IntRange(1), metavar="P", help="With --on: how many parts; default as many as workers."
)
work_option = click.option(
    "--work", metavar="DIR", help="With --on: a folder that all workers share; default OUT.parts."
)


def say_others_end(on: str, out: str) -> None:
    """What a job of an array says that is not the one that ends the work."""
    say(f"{on}: this job's share is done; another writes {out}")


def crew_of(on: str | None, jobs: int, work: str | None, out: Path, name: str | None = None) -> Crew:
    """Who trains: what ``--jobs`` or ``--on`` say.

    Args:
        name: What the experiment is called in the folder of the tasks, if several share it.
    """
    from gtea.cluster.carriers import carrier_of
    from gtea.experiments.runs.run_jobs import Crew

    if on is None:
        if work is not None:
            raise UsageError("--work: only goes with --on. Leave it out.")
        return Crew(jobs)
    if given("jobs"):
        raise UsageError("--jobs: does not go with --on, which says how many. Leave it out.")
    shared = out.with_name(f"{out.name}.parts") if work is None else Path(work).absolute()
    return Crew(carrier=carrier_of(on), work=shared / name if name else shared)
