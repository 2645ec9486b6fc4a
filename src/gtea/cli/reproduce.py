"""``gtea reproduce``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gtea.cli.output import json_option, print_json, printable, progress_bar, training_line
from gtea.cli.train import device_option, unknown_option
from gtea.errors import UsageError

if TYPE_CHECKING:
    from gtea.reproduce.experiment import Experiment
    from gtea.reproduce.plan import Plan, Point
    from gtea.reproduce.study import Listener, Standing
    from gtea.reproduce.subject import Subject

_LISTS = ("--data", "--models", "--axes")


class _Lists(click.Command):
    """A command some of whose options take several words: ``--models gcn tree`` is ``--models gcn --models tree``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, spread(args))


def spread(words: Sequence[str]) -> list[str]:
    """The words with the flag of a list put before each of its items."""
    found: list[str] = []
    flag: str | None = None
    for word in words:
        if word.startswith("-"):
            flag = word if word in _LISTS else None
            found += [] if flag else [word]
        elif flag:
            found += [item for name in word.split(",") if name for item in (flag, name)]
        else:
            found.append(word)
    return found


def _shared(function: Callable[..., None]) -> Callable[..., None]:
    """The options that all experiments have."""
    options = (
        click.option(
            "--data",
            "names",
            multiple=True,
            metavar="NAME...",
            help="Data sets by name, payments, or prepared folders.",
        ),
        click.option("--store", metavar="STORE", help="Data of your own instead of --data: a store ..."),
        click.option(
            "--labels", metavar="FILE", help="... and labels of its accounts; without them, links are foretold."
        ),
        click.option("--positive", metavar="CLASS", help="The class that is looked for; else the rarer one."),
        unknown_option,
        click.option("--from", "given", metavar="DIR", help="The folder that holds the files of the data set."),
        click.option(
            "--protocol",
            type=click.Choice(["paper", "temporal"]),
            default="temporal",
            show_default=True,
            help="The paper's split, or by time.",
        ),
        click.option(
            "--folds", default=5, show_default=True, metavar="K", help="Runs of each model: folds, or seeds by time."
        ),
        click.option("--seed", default=0, show_default=True, metavar="S", help="The first seed."),
        click.option("--config", metavar="FILE", help="Settings of all runs in TOML."),
        click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="One setting of all runs."),
        click.option("--out", default="reproduce", show_default=True, metavar="DIR", help="Where all of it is kept."),
        click.option("--results", metavar="DIR", help="Where tables and figures go, instead of --out."),
        click.option(
            "--jobs", default=1, show_default=True, metavar="N", help="Runs side by side, each with 1/N threads."
        ),
        device_option,
        json_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.group("reproduce")
def command() -> None:
    """Make the paper's tables and figures, and the same of other data.

    \b
      gtea reproduce table1 --data ethereum_phishing --protocol paper
      gtea reproduce table1 --data wikipedia mooc --models tgat gtea-l+t tree edgebank
      gtea reproduce table1 --store payments.store --labels labels.csv

    Every training is kept as one JSON file in OUT/runs. Killed at any moment, the same command goes on where it was;
    with other settings it begins other runs, and never mixes them.
    """


@command.command("table1", cls=_Lists)
@_shared
@click.option("--models", multiple=True, metavar="MODEL...", help="Some of the models; default all.")
def table1_command(models: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Every model of Table 1, a tree and (links) EdgeBank: mean and spread beside the paper's numbers.

    By default the split is by time, and runs differ by their seeds. --protocol paper is the paper's: five stratified
    folds of accounts, or of links one graph, the first half's, for all windows.

    \b
      gtea reproduce table1 --data ethereum_phishing --protocol paper --jobs 2
      gtea reproduce table1 --data bitcoin_otc --models gtea-l+t tree --set train.epochs=30
    """
    from gtea.reproduce.plan import model_points

    results = []
    for experiment, results_folder in _experiments(options, lambda subject: model_points(subject.task, models)):
        results.append(_table1(experiment, results_folder, models, quiet=as_json))
    if as_json:
        print_json(results[0] if len(results) == 1 else results)


def _table1(experiment: Experiment, folder: Path, models: Sequence[str], *, quiet: bool) -> dict[str, Any]:
    from gtea.reproduce.paper import paper_column
    from gtea.reproduce.table1 import table_json, table_lines, write_table
    from gtea.reproduce.table1_figure import draw_table

    subject, plan = experiment.subject, experiment.plan
    path = folder / f"{subject.name}-{plan.protocol}"
    with run_lines() as listener:
        rows = experiment.run(listener, lambda rows: write_table(path, subject, plan, rows, models))
    pages = write_table(path, subject, plan, rows, models)
    pictures = _drawn(lambda: draw_table(path, f"{subject.name}, protocol {plan.protocol}", rows))
    if not quiet:
        click.echo("\n".join(table_lines(rows, paper_column(subject.name))))
        _say_where([*pages, *pictures], pictures)
    return {**table_json(subject, plan, rows), "files": [str(path) for path in (*pages, *pictures)]}


def _experiments(
    options: dict[str, Any], points_of: Callable[[Subject], list[Point]]
) -> Iterator[tuple[Experiment, Path]]:
    """One experiment for each data set, and where its results go."""
    from gtea.reproduce.experiment import Experiment

    plan, out = _plan(options), Path(options["out"]).absolute()
    results = Path(options["results"]).absolute() if options["results"] else out
    for subject in _subjects(options, out):
        yield Experiment(subject, plan, points_of(subject), out, options["jobs"]), results


def _plan(options: dict[str, Any]) -> Plan:
    from gtea.reproduce.plan import Plan

    config = Path(options["config"]) if options["config"] else None
    chosen = {name: options[name] for name in ("protocol", "folds", "seed", "settings", "device")}
    return Plan(**chosen, config=config)


def _subjects(options: dict[str, Any], out: Path) -> Iterator[Subject]:
    from gtea.reproduce.subject import own_subject, subject_of

    names, store, labels, positive = (options[name] for name in ("names", "store", "labels", "positive"))
    if bool(names) == bool(store):
        raise UsageError("--data, --store: give one of them: data sets by name, or a store of your own.")
    if store:
        yield own_subject(Path(store), Path(labels) if labels else None, positive=positive, unknown=options["unknown"])
        return
    if labels:
        raise UsageError("--labels: goes with --store. Data sets by name have labels of their own.")
    given = Path(options["given"]) if options["given"] else None
    for name in dict.fromkeys(names):
        with progress_bar() as progress:
            subject = subject_of(
                name, out, protocol=options["protocol"], given=given, positive=positive, progress=progress
            )
        yield subject


def _drawn(draw: Callable[[], list[Path]]) -> list[Path]:
    from gtea.drawing import can_draw

    return draw() if can_draw() else []


def _say_where(paths: Sequence[Path], pictures: Sequence[Path]) -> None:
    from gtea.drawing import MISSING

    click.echo(f"\nin {printable(str(paths[0].parent))}: {', '.join(path.name for path in paths)}")
    if not pictures:
        click.echo(MISSING)


@contextlib.contextmanager
def run_lines() -> Iterator[Listener]:
    """A line on standard error for every run that ends; on a terminal also a bar for what is under way."""
    if not sys.stderr.isatty():
        yield lambda standing: click.echo(run_line(standing), err=True) if standing.outcome else None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console, transient=True
    ) as bar:
        task = bar.add_task("runs", total=None)

        def show(standing: Standing) -> None:
            if standing.outcome is not None:
                console.print(run_line(standing), markup=False)
            under_way = "" if standing.report is None else f": {training_line(standing.report)}"
            label = f"{standing.job.model}, {standing.job.repeat.label}{under_way}"
            bar.update(task, total=standing.total, completed=len(standing.ended), description=label)

        yield show


def run_line(standing: Standing) -> str:
    """A run that has ended, and where the experiment stands."""
    outcome = standing.outcome
    assert outcome is not None
    shown = [
        f"{name.replace('_', ' ')} {outcome.test[name]:.4f}"
        for name in ("accuracy", "macro_f1")
        if name in outcome.test
    ]
    figures = ", ".join(shown) if outcome.state == "finished" else f"failed: {outcome.reason}"
    left = "" if not standing.seconds_left else f"; about {duration(standing.seconds_left)} left"
    count = f"[{len(standing.ended):>{len(str(standing.total))}}/{standing.total}]"
    return printable(
        f"{count} {outcome.data} {outcome.model}, {outcome.label}: {figures}, {outcome.seconds:.0f} s{left}"
    )


def duration(seconds: float) -> str:
    """A time span for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
