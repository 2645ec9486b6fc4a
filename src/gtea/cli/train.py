"""``gtea train``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gtea.cli.output import given, json_option, print_json, print_unknown, printable, training_bar
from gtea.errors import UsageError

device_option = click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True, help="What computes."
)
unknown_option = click.option(
    "--unknown",
    type=click.Choice(["error", "skip"]),
    default="error",
    show_default=True,
    help="Accounts that the store doesn't have: stop and list them, or leave them out, counted.",
)
_VARIANTS = (
    "hybrid (default): gtea-l+t and boosted trees; gtea-l, gtea-l+t, gtea-tx, gtea-tx+t or gtea-he; "
    "to compare with: gcn, graphsage, gat, ecconv, egnn, tgat, tree, and for links edgebank."
)


@click.command("train")
@click.argument("store")
@click.option(
    "--task",
    type=click.Choice(["nodes", "links"]),
    default="nodes",
    show_default=True,
    help="Classify labelled accounts, or foretell which pairs have events.",
)
@click.option("--labels", metavar="FILE", help="Nodes: table of account, label and perhaps known_at.")
@click.option("--graph-until", metavar="T", help="Links: events before T are the graph; default the first half.")
@click.option("--out", metavar="MODEL", help="The folder to create.")
@click.option("--resume", metavar="RUN", help="Go on with a run that was interrupted, instead of --out.")
@click.option("--variant", metavar="NAME", help=_VARIANTS)
@click.option("--config", metavar="FILE", help="Settings in TOML: sections model, features, sampling, train, split.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="One setting, such as train.lr=0.01.")
@click.option("--as-of", metavar="T", help="Nothing at or after T is used: a date, or a number in the input's unit.")
@click.option("--positive", metavar="CLASS", help="The class whose probability is the score; else the rarer one.")
@click.option("--folds", metavar="K", type=int, help="Train and judge K stratified folds instead of one split by time.")
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
    as_json: bool,
    **options: Any,
) -> None:
    """Train GTEA, or what it is compared with, on the labelled accounts of STORE, or on its links.

    Accounts are split by the time of their first event: the earliest 60 % train, the next 20 % choose the best weights,
    the last 20 % judge them. Training sees the graph as of the end of its window, and nothing later.

    \b
      gtea train payments.store --labels labels.csv --out payments.model
      gtea train payments.store --labels labels.csv --variant gtea-tx --set train.lr=0.01 --out tx.model
      gtea train payments.store --labels labels.csv --folds 5 --out five
      gtea train payments.store --task links --out links.model

    With --task links no labels are needed: events before --graph-until are the graph, those after it are cut by time
    into windows that train, choose and judge.
    """
    from gtea.training.request import LinkRequest, NodeRequest, run_folds, run_once
    from gtea.training.tensorboard import with_board

    options = options_of(task, {**options, "folds": folds})
    options["config"] = Path(config) if config else None
    read = LinkRequest.read if task == "links" else NodeRequest.read
    request = read(Path(store), variant=variant, **options)
    with training_bar() as bar:
        listener = with_board(bar)
        if folds is not None and isinstance(request, NodeRequest):
            result = run_folds(request, folds, out, resume, listener)
        else:
            result = run_once(request, out, resume, listener)
    if as_json:
        print_json(result)
        return
    click.echo(f"model in {printable(result['out'])}")
    print_unknown(result.get("labels", {}))
    print_left_out(result.get("split", {}))
    for name, value in result["test"].items():
        spread = f" +- {value['std']:.4f}" if isinstance(value, dict) else ""
        click.echo(f"test {name:<22} {value['mean'] if isinstance(value, dict) else value:.4f}{spread}")


def print_left_out(split: dict[str, Any]) -> None:
    """Say which examples are in no part, and why."""
    reasons = dict(split.get("left_out", {}))
    reasons["pairs_without_negative"] = sum(
        split[part].get("pairs_without_negative", 0) for part in ("train", "validation", "test") if part in split
    )
    for reason, count in reasons.items():
        if count:
            click.echo(f"left out: {count:,} {reason.replace('_', ' ')}")


def options_of(task: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options that the task takes; those of the other task must not be given."""
    others = ("graph_until",) if task == "nodes" else ("labels", "positive", "folds", "unknown")
    for name in others:
        if given(name):
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag}: has no meaning with --task {task}. Leave it out.")
    if task == "nodes" and options["labels"] is None:
        raise UsageError("--labels: must be given with --task nodes. Name a table of accounts and labels.")
    return {name: value for name, value in options.items() if name not in {*others, "folds"}}
