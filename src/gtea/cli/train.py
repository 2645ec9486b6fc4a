"""``gtea train``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gtea.cli.output import json_option, print_json, printable, training_bar

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


@click.command("train")
@click.argument("store")
@click.option("--labels", required=True, metavar="FILE", help="Table of account, label and perhaps known_at.")
@click.option("--out", metavar="MODEL", help="The folder to create.")
@click.option("--resume", metavar="RUN", help="Go on with a run that was interrupted, instead of --out.")
@click.option("--variant", metavar="NAME", help="gtea-l, gtea-l+t (default), gtea-tx, gtea-tx+t or gtea-he.")
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
    labels: str,
    out: str | None,
    resume: str | None,
    variant: str | None,
    config: str | None,
    settings: tuple[str, ...],
    as_of: str | None,
    folds: int | None,
    device: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Train GTEA on the labelled accounts of STORE.

    Accounts are split by the time of their first event: the earliest 60 % train, the next 20 % choose the best weights,
    the last 20 % judge them. Training sees the graph as of the end of its window, and nothing later.

    \b
      gtea train payments.store --labels labels.csv --out payments.model
      gtea train payments.store --labels labels.csv --variant gtea-tx --set train.lr=0.01 --out tx.model
      gtea train payments.store --labels labels.csv --folds 5 --out five
    """
    from gtea.training.request import NodeRequest, run_folds, run_once

    request = NodeRequest.read(
        Path(store),
        labels,
        variant=variant,
        config=Path(config) if config else None,
        settings=settings,
        as_of=as_of,
        device=device,
        **options,
    )
    with training_bar() as listener:
        if folds is None:
            result = run_once(request, out, resume, listener)
        else:
            result = run_folds(request, folds, out, resume, listener)
    if as_json:
        print_json(result)
        return
    click.echo(f"model in {printable(result['out'])}")
    for name, value in result["test"].items():
        spread = f" +- {value['std']:.4f}" if isinstance(value, dict) else ""
        click.echo(f"test {name:<22} {value['mean'] if isinstance(value, dict) else value:.4f}{spread}")
