"""``gtea train``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gtea.cli.bars import progress_bar, training_bar
from gtea.cli.carriers import on_option, say_others_end, work_option
from gtea.cli.output import given, json_option, print_unknown, print_warnings
from gtea.cli.places import STORE
from gtea.cli.terminal import print_json, say
from gtea.cli.train_processes import started_by_torchrun, train_by_torchrun, train_on
from gtea.cli.verified import check_store, verify_option
from gtea.errors import UsageError

if TYPE_CHECKING:
    from gtea.training.request import NodeRequest
    from gtea.training.results import FoldsResult, TrainingResult

device_option = click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True, help="Where to compute."
)
unknown_option = click.option(
    "--unknown",
    type=click.Choice(["error", "skip"]),
    default="error",
    show_default=True,
    help="Accounts that the store does not have: stop and list them, or skip and count them.",
)
split_option = click.option(
    "--split",
    "split_by",
    type=click.Choice(["auto", "time", "random"]),
    default="auto",
    show_default=True,
    help="How accounts are split; auto: by time, or at random where nearly all accounts begin at once.",
)
_VARIANTS = (
    "hybrid (default): GTEA and boosted trees; gtea-l, gtea-l+t, gtea-tx, gtea-tx+t or gtea-he: GTEA alone; "
    "to compare with: gcn, graphsage, gat, ecconv, egnn, tgat, tree, strong-tree, and for links edgebank."
)


_DECISIONS = ("prevalence", "budget", "precision")


@click.command("train")
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
@click.option("--out", metavar="MODEL", help="The folder to create.")
@click.option("--resume", metavar="RUN", help="Resume an interrupted run, instead of --out.")
@click.option("--variant", metavar="NAME", help=_VARIANTS)
@click.option("--config", metavar="FILE", help="Settings in TOML: sections model, features, sampling, train, split.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="One setting, such as train.lr=0.01.")
@click.option("--as-of", metavar="T", help="Nothing at or after T is used: a date, or a number in the input's unit.")
@click.option("--positive", metavar="CLASS", help="The class whose probability is the score; else the rarer one.")
@click.option(
    "--prevalence", metavar="P", type=float, help="Nodes: the share of positives in reality, if labels were sampled."
)
@click.option("--budget", metavar="N", type=int, help="Nodes: set the threshold so that N accounts are alerts.")
@click.option(
    "--precision", metavar="P", type=float, help="Nodes: set the threshold so that this share of alerts is right."
)
@split_option
@click.option("--folds", metavar="K", type=int, help="Train and evaluate K stratified folds instead of one split.")
@on_option
@work_option
@verify_option
@unknown_option
@device_option
@json_option
def command(
    store: str,
    task: str,
    out: str | None,
    resume: str | None,
    variant: str | None,
    config: str | None,
    folds: int | None,
    on: str | None,
    work: str | None,
    verify: bool | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Train a model on the labelled accounts of STORE, or on its links.

    Accounts are split by the time of their first event: the first 60 % train, the next 20 % validate, the last 20 %
    test. Training sees the graph as of the end of its window, and nothing later; boosted trees are fitted again at the
    end, with the graph as of the time of scoring and no label of the test part. Where accounts have only just begun
    when training ends, they are split at random instead, with one graph for all, and a warning says so.

    \b
      gtea train payments.store --labels labels.csv --out payments.model
      gtea train payments.store --labels labels.csv --variant gtea-tx --set train.lr=0.01 --out tx.model
      gtea train payments.store --labels labels.csv --folds 5 --out five
      gtea train payments.store --labels labels.csv --folds 5 --out five --on local:5
      gtea train payments.store --labels labels.csv --set train.micro_batches=4 --out payments.model --on local:4
      gtea train payments.store --task links --out links.model

    A probability at or above the model's threshold is an alert. By default the threshold has the highest macro-F1 on
    the validation part, or is one half where that part can't tell; --budget and --precision choose another.

    With --on local:N, N processes share one training, or the trainings of --folds. One training must have as many
    micro-batches, and then has the same bytes with any number of processes. A process that dies is replaced, and the
    same command goes on after a crash. Processes of several machines share a training if torchrun starts them:

    \b
      torchrun --nproc-per-node 2 -m gtea train payments.store --labels labels.csv \\
               --set train.micro_batches=2 --out payments.model

    With --task links no labels are needed: events before --graph-until are the graph, later events are cut by time
    into windows that train, validate and test.
    """
    torchrun = started_by_torchrun()
    from gtea.tasks.decision_options import DecisionOptions
    from gtea.training.folds import run_folds
    from gtea.training.request import LinkRequest, NodeRequest, run_once
    from gtea.training.tensorboard import with_board

    if folds is not None and folds < 3:
        raise UsageError(f"--folds: must be at least 3: one validates and one tests (got {folds}). Try 5.")
    if folds is not None and given("split_by"):
        raise UsageError("--split, --folds: folds are drawn at random. Give one of them.")
    if work is not None and (on is None or folds is None):
        raise UsageError("--work: only goes with --folds and --on. Leave it out.")
    options = options_of(task, {**options, "folds": folds})
    options["config"] = Path(config) if config else None
    if task == "nodes":
        options["decisions"] = DecisionOptions(*(options.pop(name) for name in _DECISIONS))

    def read() -> NodeRequest | LinkRequest:
        check_store(store, verify=verify is not False)  # first: damaged ids would seem to be missing accounts
        if task == "links":
            return LinkRequest.read(Path(store), variant=variant, **options)
        return NodeRequest.read(Path(store), variant=variant, **options)

    result: TrainingResult | FoldsResult
    if torchrun:
        shared = train_by_torchrun(read, options["device"], out, resume)
        if shared is None:
            return
        result = shared
    elif on is not None and folds is None:
        result = train_on(on, read(), options, out, resume)
    elif on is not None and folds is not None and isinstance(request := read(), NodeRequest):
        made = _folds_on(on, request, options, folds, out, resume, work)
        if made is None:
            say_others_end(on, out or resume or "")
            return
        result = made
    else:
        request = read()
        with training_bar() as bar:
            listener = with_board(bar)
            if folds is not None and isinstance(request, NodeRequest):
                result = run_folds(request, folds, out, resume, listener)
            else:
                result = run_once(request, out, resume, listener)
    if as_json:
        print_json(result)
        return
    print_unknown(result.get("labels", {}))
    print_left_out(result.get("split", {}))
    lines = fold_lines(result) if folds is not None else result_lines(result)
    say(*lines)
    print_warnings(result)
    if folds is None:
        say(f"next: {_next_command(result, store)}")


def _folds_on(
    on: str,
    request: NodeRequest,
    options: Mapping[str, Any],
    folds: int,
    out: str | None,
    resume: str | None,
    work: str | None,
) -> FoldsResult | None:
    from gtea.cluster.carriers import carrier_of
    from gtea.training.folds import run_folds_on
    from gtea.training.request_record import RequestRecord

    record, place = RequestRecord.of(request, options), None if work is None else Path(work).absolute()
    with progress_bar() as progress:
        return run_folds_on(carrier_of(on), request, record, folds, out, resume, place, progress)


def result_lines(result: Mapping[str, Any]) -> list[str]:
    """What was trained, how good it is, how it compares, and where it is."""
    epochs = f"; the best of {result['epochs']} epochs was epoch {result['best_epoch'] + 1}" if result["epochs"] else ""
    return [
        *_verdict(result),
        f"trained {result['model']} on {_training_size(result)} in {result['seconds']:.0f} s{epochs}",
        *_test_lines(result),
        *_threshold_lines(result),
        f"model in {result['out']}; all figures in metrics.json and MODEL_CARD.md",
    ]


def _test_lines(result: Mapping[str, Any]) -> list[str]:
    test, positive = result["test"], result["positive"]
    part = result["split"]["test"]
    classes = part.get("classes", {})
    if result["task"] == "links":
        lines = [f"test part: {_size(part)} that met later, and as many that did not"]
        chance, what = 0.5, "links"
    elif positive is None:
        majority = max(classes.values()) / sum(classes.values())
        lines = [f"test part: {_size(part)} of {len(classes)} classes"]
        return [
            *lines,
            f"  accuracy           {test['accuracy']:.4f}  ({majority:.4f} for always naming the largest class)",
            f"  macro-F1           {test['macro_f1']:.4f}",
        ]
    else:
        share = test["prevalence"]
        drawn = "drawn at random" if result["split"]["split"] == "random" else "that appeared later"
        lines = [f"test part: {_size(part)} {drawn}, {classes[positive]:,} of them {positive} ({share:.1%})"]
        chance, what = share, positive
    lines.append(f"  average precision  {test['average_precision']:.4f}  ({chance:.4f} by chance)")
    if result["task"] == "nodes":
        count, precision = (
            (100, test["precision_at_100"])
            if "precision_at_100" in test
            else (classes[positive], test["precision_at_positives"])
        )
        lines.append(f"  of the {count:,} highest scores, {count * precision:.0f} are {what}")
    return [*lines, f"  accuracy           {test['accuracy']:.4f}, macro-F1 {test['macro_f1']:.4f}"]


def _verdict(result: Mapping[str, Any]) -> list[str]:
    """Whether a hybrid is ahead of its trees alone on the test part, by how much, and how sure that is."""
    if "against_trees" not in result:
        return []
    metric = "accuracy" if result["positive"] is None and result["task"] == "nodes" else "average_precision"
    found, name = result["against_trees"][metric], metric.replace("_", " ")
    ours, trees = result["test"][metric], result["test_trees_alone"][metric]
    if found["low"] > 0:
        verdict = "ahead of boosted trees"
    else:
        verdict = "behind boosted trees" if found["high"] < 0 else "level with boosted trees"
    interval = f"{found['difference']:+.4f}, 95 % interval {found['low']:+.4f} to {found['high']:+.4f}"
    return [f"{verdict}: {name} {ours:.4f} against {trees:.4f} ({interval})"]


def _threshold_lines(result: Mapping[str, Any]) -> list[str]:
    """From which probability on an account is an alert, and what to expect of the alerts."""
    threshold = result.get("threshold")
    if threshold is None or result["task"] == "links":
        return []
    reasons = {
        "macro_f1": "best macro-F1 on the validation part",
        "half": "one half: the validation part gives no better one",
        "precision": "the wanted precision on the validation part",
        "budget": f"{threshold['num_alerts']:,} accounts of the store",
    }
    precision, expected = threshold["precision"], threshold["expected_precision"]
    right = "" if expected is None else f"; of the alerts, expect {expected:.0%} to be {result['positive']}"
    if precision is not None:
        prevalence = result.get("prevalence")
        where = (
            "on the validation part"
            if prevalence is None
            else f"on the validation part, if its share of {result['positive']} were {prevalence:g}"
        )
        right = (
            f"; of the alerts, {precision['value']:.0%} were {result['positive']} {where} "
            f"(95 % interval {precision['low']:.0%} to {precision['high']:.0%})"
        )
    return [f"alert: a probability of {threshold['value']:.4f} or more ({reasons[threshold['rule']]}){right}"]


def fold_lines(result: Mapping[str, Any]) -> list[str]:
    """Mean and spread over the folds."""
    lines = [f"test part, mean and standard deviation over {result['folds']} folds"]
    for name, value in result["test"].items():
        lines.append(f"  {name:<22} {value['mean']:.4f} +- {value['std']:.4f}")
    return [*lines, f"models in {result['out']}, one folder per fold; all figures in folds.json"]


def _training_size(result: Mapping[str, Any]) -> str:
    """How many examples training had. Trees are fitted again with those of the validation part."""
    train, validation = result["split"]["train"], result["split"]["validation"]
    if not result.get("refit_trees"):
        return _size(train)
    both = {name: train[name] + validation[name] for name in ("pairs", "accounts") if name in train}
    return f"{_size(train)}, its trees on {_size(both)}," if result["epochs"] else _size(both)


def _size(part: Mapping[str, Any]) -> str:
    return f"{part['pairs']:,} pairs" if "pairs" in part else f"{part['accounts']:,} accounts"


def _next_command(result: Mapping[str, Any], store: str) -> str:
    pairs = " --pairs pairs.csv" if result["task"] == "links" else ""
    return f"gtea score {shlex.quote(result['out'])} {shlex.quote(store)}{pairs} --out scores.csv"


def print_left_out(split: dict[str, Any]) -> None:
    """Print which examples are in no part, and why."""
    reasons = dict(split.get("left_out", {}))
    reasons["pairs_without_negative"] = sum(
        split[part].get("pairs_without_negative", 0) for part in ("train", "validation", "test") if part in split
    )
    for reason, count in reasons.items():
        if count:
            say(f"left out: {count:,} {reason.replace('_', ' ')}")


def options_of(task: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options that the task takes; those of the other task must not be given."""
    others = (
        ("graph_until",) if task == "nodes" else ("labels", "positive", "split_by", "folds", "unknown", *_DECISIONS)
    )
    for name in others:
        if given(name):
            flag = name.removesuffix("_by").replace("_", "-")
            raise UsageError(f"--{flag}: does not apply to --task {task}. Leave it out.")
    if task == "nodes" and options["labels"] is None:
        raise UsageError("--labels: must be given with --task nodes. Name a table of accounts and labels.")
    return {name: value for name, value in options.items() if name not in {*others, "folds"}}
