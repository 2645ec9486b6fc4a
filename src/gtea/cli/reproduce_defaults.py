"""``gtea reproduce defaults``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gtea.cli.bars import progress_bar
from gtea.cli.carriers import crew_of, on_option, say_others_end, work_option
from gtea.cli.option_lists import ListsCommand
from gtea.cli.output import given, json_option
from gtea.cli.run_lines import run_lines
from gtea.cli.terminal import print_json, say
from gtea.errors import UsageError

if TYPE_CHECKING:
    from gtea.experiments.defaults.suite import Suite, SuiteResult

_SEEDS = 3


@click.command("defaults", cls=ListsCommand)
@click.option(
    "--data",
    "names",
    multiple=True,
    metavar="NAME...",
    help="Tables; default all that are there: NAME, NAME:folds, NAME:links, world:NAME, or prepared folders.",
)
@click.option("--seeds", default=_SEEDS, show_default=True, metavar="N", help="Trainings of each model per table.")
@click.option("--quick", is_flag=True, help="One seed and three tiny tables: about a minute, to see that it works.")
@click.option("--out", default="defaults", show_default=True, metavar="DIR", help="Where everything is kept.")
@click.option(
    "--jobs", default=1, show_default=True, metavar="N", help="Runs in parallel, each with 1/N of the threads."
)
@on_option
@work_option
@json_option
def defaults_command(
    names: tuple[str, ...],
    seeds: int,
    quick: bool,
    out: str,
    jobs: int,
    on: str | None,
    work: str | None,
    as_json: bool,
) -> None:
    """Is the default model ever behind a tree? With no setting, on every data set of GTEA_DATA and synthetic worlds.

    Accounts by time and in folds, and links: the default, each of its halves, two kinds of boosted trees, and the
    majority. One row per table: the difference to the better tree, its 95 % interval by a paired bootstrap over test
    examples, and ahead, level or behind. After a kill, the same command resumes. Use a new --out for another version
    of gtea: finished trainings are not repeated.

    \b
      gtea reproduce defaults --jobs 2
      gtea reproduce defaults --data bitcoin_otc:folds bitcoin_otc:links world:drift
    """
    from gtea.experiments.defaults.suite import Suite
    from gtea.experiments.defaults.suite_tables import QUICK_TABLES, default_names, find_tables

    if quick and (names or given("seeds")):
        raise UsageError("--quick: has its own tables and one seed. Leave out --data and --seeds.")
    folder = Path(out).absolute()
    crew = crew_of(on, jobs, work, folder)
    with progress_bar() as progress:
        tables = find_tables(QUICK_TABLES if quick else names or default_names(), folder, progress)
    suite = Suite(tables, 1 if quick else seeds, folder, crew)
    options = _options(names, suite, quick=quick)
    made = _run(suite, options)
    if made is None:
        say_others_end(str(on), out)
        return
    result, pages, pictures = made
    if as_json:
        from gtea.experiments.defaults.defaults_page import defaults_json

        print_json({**defaults_json(result), "files": [str(path) for path in (*pages, *pictures)]})
    else:
        _show(result, pages, pictures)


def _options(names: tuple[str, ...], suite: Suite, *, quick: bool) -> list[str]:
    """The options that decide about results, for the page."""
    if quick:
        return ["--quick"]
    seeds = [] if suite.num_seeds == _SEEDS else [f"--seeds {suite.num_seeds}"]
    return [*([f"--data {' '.join(table.name for table in suite.tables)}"] if names else []), *seeds]


def _run(suite: Suite, options: list[str]) -> tuple[SuiteResult, list[Path], list[Path]] | None:
    from gtea.experiments.defaults.defaults_figure import draw_defaults
    from gtea.experiments.defaults.defaults_page import write_defaults
    from gtea.experiments.drawing import can_draw

    path = suite.out / "defaults"
    with progress_bar() as progress:
        checks = suite.checks(progress)
    with run_lines() as listener:
        result = suite.run(checks, listener, lambda found: write_defaults(path, found, options))
    if result is None:
        return None
    pages = write_defaults(path, result, options)
    return result, pages, draw_defaults(path, result) if can_draw() else []


def _show(result: SuiteResult, pages: list[Path], pictures: list[Path]) -> None:
    from gtea.experiments.defaults.defaults_page import skipped_lines, summary_lines, table_lines
    from gtea.experiments.drawing import MATPLOTLIB_MISSING, can_draw

    say(*table_lines(result), "", *skipped_lines(result), *summary_lines(result))
    say("", f"in {pages[0].parent}: {', '.join(path.name for path in (*pages, *pictures))}")
    if not can_draw():
        say(MATPLOTLIB_MISSING)
