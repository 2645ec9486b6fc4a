"""``gtea score``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from gtea.cli.output import json_option, print_json, printable
from gtea.cli.train import device_option, unknown_option


@click.command("score")
@click.argument("model")
@click.argument("store")
@click.option("--out", required=True, metavar="FILE", help="scores.parquet or scores.csv.")
@click.option("--accounts", metavar="FILE", help="Only these accounts; default all of the store.")
@click.option("--as-of", metavar="T", help="Score as of T; default just after the last event.")
@unknown_option
@device_option
@json_option
def command(
    model: str,
    store: str,
    out: str,
    accounts: str | None,
    as_of: str | None,
    unknown: Literal["error", "skip"],
    device: str,
    as_json: bool,
) -> None:
    """Score the accounts of STORE with MODEL, the most suspicious first.

    Columns: account, score, rank, and the probability of each class. An account that training never saw is scored
    like any other.
    """
    from gtea.scoring.table import score_accounts
    from gtea.training.device import resolve_device

    result = score_accounts(
        Path(model),
        Path(store),
        Path(out),
        accounts=accounts,
        as_of=as_of,
        unknown=unknown,
        device=resolve_device(device),
    )
    if as_json:
        print_json(result)
        return
    click.echo(f"{result['accounts']:,} accounts as of {result['as_of_date']}, written to {printable(out)}")
    for row in result["top"]:
        click.echo(f"{row['rank']:>6}  {row['score']:.4f}  {printable(row['account'])}")
