"""``gtea reproduce``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gtea.cli.bars import progress_bar
from gtea.cli.carriers import crew_of, on_option, say_others_end, work_option
from gtea.cli.option_lists import ListsCommand
from gtea.cli.output import given, json_option
from gtea.cli.reproduce_defaults import defaults_command
from gtea.cli.reproduce_few_labels import few_labels_command
from gtea.cli.run_lines import run_lines
from gtea.cli.terminal import print_json, say
from gtea.cli.train import device_option, unknown_option
from gtea.errors import UsageError

if TYPE_CHECKING:
    from gtea.experiments.paper.ablation import Comparison
    from gtea.experiments.paper.experiment import Experiment
    from gtea.experiments.paper.plan import Plan, Point
    from gtea.experiments.paper.rows import Row
    from gtea.experiments.runs.subject import Subject


def _shared(function: Callable[..., None]) -> Callable[..., None]:
    """The options that all experiments have."""
    options = (
        click.option(
            "--data",
            "names",
            multiple=True,
            metavar="NAME...",
            help="Data sets by name, payments, world:NAME, or prepared folders.",
        ),
        click.option("--store", metavar="STORE", help="Data of your own instead of --data: a store ..."),
        click.option(
            "--labels", metavar="FILE", help="... and labels of its accounts; without them, links are predicted."
        ),
        click.option("--positive", metavar="CLASS", help="The positive class; default the rarer one."),
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
        click.option("--out", default="reproduce", show_default=True, metavar="DIR", help="Where everything is kept."),
        click.option("--results", metavar="DIR", help="Where tables and figures go, instead of --out."),
        click.option(
            "--jobs", default=1, show_default=True, metavar="N", help="Runs in parallel, each with 1/N of the threads."
        ),
        on_option,
        work_option,
        device_option,
        json_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.group("reproduce")
def command() -> None:
    """Reproduce the paper's tables and figures, or make them for other data; compare the default with trees.

    \b
      gtea reproduce table1 --data ethereum_phishing --protocol paper
      gtea reproduce table1 --data wikipedia mooc --models tgat gtea-l+t tree edgebank
      gtea reproduce table1 --store payments.store --labels labels.csv
      gtea reproduce defaults --jobs 2
      gtea reproduce few-labels --jobs 2

    Every training is kept as one JSON file in OUT/runs. After a kill, the same command resumes. Other settings are
    other runs, and are never mixed. With --on, trainings are done by several processes or machines, to the same files.
    """


command.add_command(defaults_command)
command.add_command(few_labels_command)


@command.command("table1", cls=ListsCommand)
@_shared
@click.option("--models", multiple=True, metavar="MODEL...", help="Some of the models; default all.")
def table1_command(models: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Every model of Table 1, boosted trees and (links) EdgeBank: mean and spread next to the paper's numbers.

    By default the split is by time, and runs differ by their seeds. --protocol paper is the paper's split: five
    stratified folds of accounts, or for links one graph, that of the first half, for all windows.

    \b
      gtea reproduce table1 --data ethereum_phishing --protocol paper --jobs 2
      gtea reproduce table1 --data bitcoin_otc --models gtea-l+t tree --set train.epochs=30
    """
    from gtea.experiments.paper.plan import model_points, validate_models

    validate_models(models)  # refuse a misspelt name before any data are read
    _each(options, as_json, lambda data: model_points(data.task, models), lambda found: _table1(found, models))


@command.command("ablation", cls=ListsCommand)
@_shared
@click.option("--models", multiple=True, metavar="MODEL...", help="GTEA variants to change.")
@click.option(
    "--axes", multiple=True, metavar="AXIS...", help="attention, time, edges, max_events, fanout; default all."
)
def ablation_command(models: tuple[str, ...], axes: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """GTEA with one setting changed at a time, on the same folds or seeds.

    attention: sparsemax, softmax, entmax15. time: with and without +T. edges: statistics (GTEA_HE) and learnt.
    max_events and fanout: how much of the neighbourhood is read. Runs of Table 1 are reused.

    \b
      gtea reproduce ablation --data ethereum_phishing --protocol paper --axes attention
      gtea reproduce ablation --data payments --models gtea-l+t --axes max_events fanout
    """
    from gtea.experiments.paper.ablation import comparisons, points_of

    asked = comparisons(axes, models, options["settings"])
    words = [f"--{name} {' '.join(given)}" for name, given in (("axes", axes), ("models", models)) if given]
    _each(options, as_json, lambda data: points_of(asked), lambda found: _ablation(found, asked, words))


@command.command("attention", cls=ListsCommand)
@_shared
@click.option("--models", multiple=True, metavar="MODEL...", help="Variants of GTEA; default gtea-l+t.")
def attention_command(models: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """How sparsemax and softmax distribute attention, and the share of neighbours with weight zero.

    The weights are exact: those of the test part's accounts (for links: of their sources) over all their neighbours.
    Models that Table 1 or an ablation has trained are reused.

    \b
      gtea reproduce attention --data ethereum_phishing --protocol paper
    """
    from gtea.experiments.paper.attention import attention_points

    points = attention_points(models, options["settings"])
    _each(options, as_json, lambda data: points, lambda found: _attention(found, models))


@dataclass(frozen=True)
class _Report:
    """How an experiment is shown."""

    name: str
    """What the files are called besides the data's name and the protocol."""
    shown: Callable[[list[Row]], Any]
    """What is shown: the rows as they are, or what is made from them when all is done."""
    write: Callable[[Path, Any], list[Path]]
    draw: Callable[[Path, str, Any], list[Path]]
    lines: Callable[[Any], list[str]]
    facts: Callable[[Any], dict[str, Any]]
    grows: bool = True
    """Whether the pages are written after every run, as far as they are known."""


def _table1(experiment: Experiment, models: Sequence[str]) -> _Report:
    from gtea.experiments.paper.paper_results import paper_column
    from gtea.experiments.paper.table1 import table_json, table_lines, write_table
    from gtea.experiments.paper.table1_figure import draw_table

    subject, plan = experiment.subject, experiment.plan
    return _Report(
        "",
        lambda rows: rows,
        lambda path, rows: write_table(path, subject, plan, rows, models),
        draw_table,
        lambda rows: table_lines(rows, paper_column(subject.name)),
        lambda rows: table_json(subject, plan, rows),
    )


def _ablation(experiment: Experiment, asked: list[Comparison], words: list[str]) -> _Report:
    from gtea.experiments.paper.ablation import ablation_json, ablation_lines, comparison_results, write_ablation
    from gtea.experiments.paper.ablation_figure import draw_ablation

    subject, plan = experiment.subject, experiment.plan
    return _Report(
        "-ablation",
        lambda rows: comparison_results(asked, rows),
        lambda path, results: write_ablation(path, subject, plan, results, words),
        draw_ablation,
        ablation_lines,
        lambda results: ablation_json(subject, plan, results),
    )


def _attention(experiment: Experiment, models: Sequence[str]) -> _Report:
    from gtea.experiments.paper.attention import measure_attention
    from gtea.experiments.paper.attention_figure import draw_attention
    from gtea.experiments.paper.attention_page import attention_json, attention_lines, write_attention

    subject, plan = experiment.subject, experiment.plan

    def measured(rows: list[Row]) -> Any:
        with progress_bar() as progress:
            return measure_attention(rows, experiment.out, progress)

    return _Report(
        "-attention",
        measured,
        lambda path, found: write_attention(path, subject, plan, found, models),
        draw_attention,
        attention_lines,
        lambda found: attention_json(subject, plan, found),
        grows=False,
    )


def _each(
    options: dict[str, Any],
    as_json: bool,
    points_of: Callable[[Subject], list[Point]],
    report_of: Callable[[Experiment], _Report],
) -> None:
    """Run and show the experiment on every data set."""
    results = []
    for experiment, folder in _experiments(options, points_of):
        made = _made(experiment, report_of(experiment), folder, options, quiet=as_json)
        if made is None:
            say_others_end(options["on"], options["out"])
        else:
            results.append(made)
    if as_json and results:
        print_json(results[0] if len(results) == 1 else results)


def _made(
    experiment: Experiment, report: _Report, folder: Path, options: dict[str, Any], *, quiet: bool
) -> dict[str, Any] | None:
    """Run and show an experiment. Returns None if another process shows it."""
    subject, protocol = experiment.subject, experiment.plan.protocol
    path = folder / f"{subject.name}-{protocol}{report.name}"
    crew = crew_of(options["on"], options["jobs"], options["work"], experiment.out, path.name)

    def grown(rows: list[Row]) -> None:
        if report.grows:
            report.write(path, report.shown(rows))

    with run_lines() as listener:
        rows = replace(experiment, crew=crew).run(listener, grown)
    if rows is None:
        return None
    shown = report.shown(rows)
    pages = report.write(path, shown)
    pictures = _drawn(lambda: report.draw(path, f"{subject.name}, protocol {protocol}", shown))
    if not quiet:
        say(*report.lines(shown))
        _say_where([*pages, *pictures], pictures)
    return {**report.facts(shown), "files": [str(made) for made in (*pages, *pictures)]}


def _experiments(options: dict[str, Any], points_of: Callable[[Subject], list[Point]]) -> list[tuple[Experiment, Path]]:
    """One experiment for each data set, all of them checked, and where its results go."""
    from gtea.experiments.paper.experiment import Experiment

    plan, out = _plan(options), Path(options["out"]).absolute()
    results = Path(options["results"]).absolute() if options["results"] else out
    crew_of(options["on"], options["jobs"], options["work"], out)  # refuse what can't be before any data are read
    found = [Experiment(subject, plan, points_of(subject), out) for subject in _subjects(options, out)]
    for experiment in found:
        experiment.check()
    return [(experiment, results) for experiment in found]


def _plan(options: dict[str, Any]) -> Plan:
    from gtea.experiments.paper.plan import Plan

    config = Path(options["config"]) if options["config"] else None
    chosen = {name: options[name] for name in ("protocol", "folds", "seed", "settings", "device")}
    return Plan(**chosen, config=config)


def _subjects(options: dict[str, Any], out: Path) -> Iterator[Subject]:
    from gtea.experiments.runs.subject import named_subject, own_subject

    names, store, labels, positive = (options[name] for name in ("names", "store", "labels", "positive"))
    if bool(names) == bool(store):
        raise UsageError("--data, --store: give one of them: data sets by name, or a store of your own.")
    if given("unknown") and not store:
        raise UsageError("--unknown: goes with --store. Data sets by name have no other accounts.")
    if options["given"] and store:
        raise UsageError("--from: goes with --data, and names the folder with its files. Leave it out.")
    if store:
        yield own_subject(Path(store), Path(labels) if labels else None, positive=positive, unknown=options["unknown"])
        return
    if labels:
        raise UsageError("--labels: goes with --store. Data sets by name have labels of their own.")
    copy = Path(options["given"]) if options["given"] else None
    for name in dict.fromkeys(names):
        with progress_bar() as progress:
            subject = named_subject(
                name, out, protocol=options["protocol"], source=copy, positive=positive, progress=progress
            )
        yield subject


def _drawn(draw: Callable[[], list[Path]]) -> list[Path]:
    from gtea.experiments.drawing import can_draw

    return draw() if can_draw() else []


def _say_where(paths: Sequence[Path], pictures: Sequence[Path]) -> None:
    from gtea.experiments.drawing import MATPLOTLIB_MISSING

    say("", f"in {paths[0].parent}: {', '.join(path.name for path in paths)}")
    if not pictures:
        say(MATPLOTLIB_MISSING)
