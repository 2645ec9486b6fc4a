"""``gtea tune``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gtea.cli.bars import percent_bar, progress_bar, training_bar, training_figures
from gtea.cli.carriers import on_option, say_others_end, work_option
from gtea.cli.output import json_option, print_unknown
from gtea.cli.places import STORE
from gtea.cli.terminal import print_json, say
from gtea.cli.train import device_option, options_of, print_left_out, split_option, unknown_option
from gtea.cli.verified import check_store, verify_option
from gtea.errors import UsageError

if TYPE_CHECKING:
    from gtea.experiments.tune.search import Search, SearchListener, SearchStatus
    from gtea.experiments.tune.trial_run import TrainingRequest
    from gtea.experiments.tune.trials import Trial

_TRIALS = 20
_TOP = 5


@click.command("tune")
@click.argument("store", type=STORE)
@click.option(
    "--task",
    type=click.Choice(["nodes", "links"]),
    default="nodes",
    show_default=True,
    help="Classify labelled accounts, or predict which pairs have events.",
)
@click.option("--labels", metavar="FILE", help="Nodes: table with the columns account, label and optionally known_at.")
@click.option("--graph-until", metavar="T", help="Links: events before T are the graph; default the first half.")
@click.option("--out", metavar="DIR", required=True, help="The folder to create, or to resume.")
@click.option(
    "--search",
    "kind",
    type=click.Choice(["grid", "random", "tpe"]),
    default="random",
    show_default=True,
    help="Every combination, random ones, or those that Optuna's TPE suggests.",
)
@click.option("--trials", metavar="N", type=int, help=f"How many to try, {_TRIALS} by default; the grid has its own.")
@click.option("--space", metavar="FILE", help="What to search, in TOML; default the paper's grid.")
@click.option(
    "--seed", default=0, show_default=True, metavar="S", help="Of the search; that of training is train.seed."
)
@click.option("--no-prune", is_flag=True, help="Train every trial to its end, even if it falls behind the median.")
@click.option(
    "--final",
    is_flag=True,
    help="Then train a model with the best settings in DIR/model and evaluate it on the test part.",
)
@click.option("--resume", is_flag=True, help="Resume the search in --out.")
@click.option("--variant", metavar="NAME", help="One that gtea train takes, with the same defaults.")
@click.option("--config", metavar="FILE", help="Settings of all trials in TOML, except those that are searched.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="One setting of all trials.")
@click.option("--as-of", metavar="T", help="Nothing at or after T is used: a date, or a number in the input's unit.")
@click.option("--positive", metavar="CLASS", help="The class whose probability is the score; else the rarer one.")
@split_option
@on_option
@work_option
@verify_option
@unknown_option
@device_option
@json_option
def command(
    store: str,
    task: str,
    out: str,
    config: str | None,
    resume: bool,
    final: bool,
    on: str | None,
    work: str | None,
    verify: bool | None,
    as_json: bool,
    kind: Any,
    trials: int | None,
    space: str | None,
    seed: int,
    no_prune: bool,
    **options: Any,
) -> None:
    """Search for settings on the validation part. The test part is never used.

    Each trial trains on the training part and is evaluated by train.metric on the validation part. The best settings
    go to DIR/best.toml, all trials to DIR/trials.csv and trials.png.

    \b
      gtea tune payments.store --labels labels.csv --out tuned
      gtea train payments.store --labels labels.csv --config tuned/best.toml --out payments.model
      gtea tune payments.store --labels labels.csv --search tpe --trials 50 --space space.toml --out tuned --resume

    A space is a TOML file such as

    \b
      [model]
      num_layers = [1, 2]
      "d_node, d_edge" = [32, 64]                        # both the same
      [train]
      lr = { low = 1e-4, high = 1e-2, log = true }

    Without one it is the paper's grid, without what --set fixes. A killed search resumes with --resume to the same
    trials; with a higher --trials it continues.

    With --on, each trial is a training of its own, by several processes or machines, to the same trials; the same
    command goes on after a kill. TPE can't be spread: each of its trials depends on all before it.
    """
    from gtea.experiments.tune.search import train_best, tune
    from gtea.training.request import LinkRequest, NodeRequest

    if on is None and work is not None:
        raise UsageError("--work: only goes with --on. Leave it out.")
    read = LinkRequest.read if task == "links" else NodeRequest.read
    asked = options_of(task, options)
    check_store(store, verify=verify is not False)
    request = read(Path(store), config=Path(config) if config else None, **asked)
    search = _search(request, kind, trials, space, seed, no_prune, options["settings"])
    folder = Path(out).absolute()
    if on is not None:
        found = _tuned_on(on, request, asked, search, folder, work, resume=resume)
        if found is None:
            say_others_end(on, out)
            return
        made = found
    else:
        with tuning_bar() as listener:
            made = tune(request, search, folder, listener, resume=resume)
    result = _result(request, search, made, folder)
    if final:
        with training_bar() as bar:
            result["final"] = train_best(request, made, folder, bar)
    if as_json:
        print_json(result)
    else:
        _show(result)


def _tuned_on(
    on: str,
    request: TrainingRequest,
    options: dict[str, Any],
    search: Search,
    out: Path,
    work: str | None,
    *,
    resume: bool,
) -> list[Trial] | None:
    from gtea.cluster.carriers import carrier_of
    from gtea.experiments.tune.search_tasks import tune_on
    from gtea.training.request_record import RequestRecord

    record, place = RequestRecord.of(request, options), None if work is None else Path(work).absolute()
    with progress_bar() as progress:
        return tune_on(carrier_of(on), request, record, search, out, place, progress, resume=resume)


def _search(
    request: TrainingRequest,
    kind: Any,
    trials: int | None,
    space: str | None,
    seed: int,
    no_prune: bool,
    settings: tuple[str, ...],
) -> Search:
    from gtea.experiments.tune.pruning import MedianRule
    from gtea.experiments.tune.search import Search
    from gtea.experiments.tune.space import paper_space, read_space

    if kind == "grid" and trials is not None:
        raise UsageError("--trials: does not apply to --search grid, which tries all. Leave it out, or search random.")
    fixed_names = [setting.partition("=")[0].strip() for setting in settings]
    if space is None:
        searched = paper_space(request.config, fixed_names)
    else:
        searched = read_space(Path(space), request.config, fixed_names)
    return Search(kind, searched, _TRIALS if trials is None else trials, seed, None if no_prune else MedianRule())


def _result(request: TrainingRequest, search: Search, trials: list[Trial], out: Path) -> dict[str, Any]:
    from gtea.experiments.drawing import can_draw
    from gtea.experiments.tune.best import BEST
    from gtea.experiments.tune.search import TABLE
    from gtea.experiments.tune.search_figure import draw_search
    from gtea.experiments.tune.trials import ranked
    from gtea.training.request import NodeRequest

    metric, top = request.config.train.metric, ranked(trials)[:_TOP]
    pictures = draw_search(out / TABLE, search.space, trials, metric) if can_draw() else []
    return {
        "out": str(out),
        "metric": f"validation_{metric}",
        "trials": len(trials),
        "states": {state: sum(t.state == state for t in trials) for state in ("finished", "pruned", "failed")},
        "space": search.space.to_json(),
        "combinations": search.space.size,
        "best": top[0].to_json(),
        "top": [trial.to_json() for trial in top],
        "config": str(out / BEST),
        "table": str(out / TABLE),
        "pictures": [str(path) for path in pictures],
        "labels": request.labels.report if isinstance(request, NodeRequest) else {},
        "split": request.once(out).split.describe(),
    }


def _show(result: dict[str, Any]) -> None:
    states = ", ".join(f"{count} {state}" for state, count in result["states"].items() if count)
    among = "" if result["combinations"] is None else f" of {result['combinations']:,} combinations"
    say(f"{result['trials']} trials{among}: {states}")
    print_unknown(result["labels"])
    print_left_out(result["split"])
    say("", *_table(result), "")
    say(f"best settings in {result['config']}: gtea train --config takes them")
    pictures = " and ".join(Path(path).name for path in result["pictures"])
    say(f"all trials in {Path(result['table']).name}{', ' if pictures else ''}{pictures}")
    if not pictures:
        from gtea.experiments.drawing import MATPLOTLIB_MISSING

        say(MATPLOTLIB_MISSING)
    if "final" in result:
        say(f"model in {result['final']['out']}")
    for name, value in result.get("final", {}).get("test", {}).items():
        say(f"test {name:<22} {value:.4f}")


def _table(result: dict[str, Any]) -> list[str]:
    """The best trials, a column for each setting."""
    columns = [label.split(", ") for label in result["space"]]
    short = [", ".join(name.partition(".")[2] for name in names) for names in columns]
    head = ["trial", result["metric"], "epochs", *short]
    rows = [
        [str(trial["number"]), f"{trial['metric']:.4f}", str(trial["epochs"])]
        + [_text(trial["settings"][names[0]]) for names in columns]
        for trial in result["top"]
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)]


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@contextlib.contextmanager
def tuning_bar() -> Iterator[SearchListener]:
    """A progress bar over trials on standard error, and one for the running trial; silent if that is no terminal."""
    if not sys.stderr.isatty():
        yield lambda standing: None
        return
    with percent_bar() as bar:
        search = bar.add_task("trials", total=None, figures="")
        trial = bar.add_task("epoch", total=1.0, figures="")
        shown = 0

        def show(standing: SearchStatus) -> None:
            nonlocal shown
            if standing.number != shown:
                shown = standing.number
                bar.reset(trial)
            report = standing.report
            done = (report.epoch + report.done) / report.epochs
            best = "" if standing.best is None else f"best {standing.best:.4f}"
            bar.update(
                search,
                description=f"trial {standing.number}/{standing.trials}",
                total=standing.trials,
                completed=standing.number - 1 + done,
                figures=best,
            )
            epoch = f"epoch {report.epoch + 1}/{report.epochs}"
            bar.update(trial, description=epoch, completed=done, figures=training_figures(report))

        yield show
