"""``gtea evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from gtea.cli.output import cache_option, json_option, print_json, print_unknown, progress_bar, sampled_option
from gtea.cli.train import device_option, unknown_option


@click.command("evaluate")
@click.argument("model")
@click.argument("store")
@click.option("--labels", required=True, metavar="FILE", help="Table of account and label to judge by.")
@click.option("--as-of", metavar="T", help="Score as of T; default just after the last event.")
@sampled_option
@cache_option
@unknown_option
@device_option
@json_option
def command(
    model: str,
    store: str,
    labels: str,
    as_of: str | None,
    sampled: bool,
    cache: str | None,
    unknown: Literal["error", "skip"],
    device: str,
    as_json: bool,
) -> None:
    """Judge MODEL by labelled accounts of STORE.

    Give labels that the model was not trained on: those it was trained on it knows by heart. Accounts are scored as
    gtea score does it: exactly, unless --sampled.
    """
    from gtea.scoring.evaluate import evaluate
    from gtea.scoring.way import Way
    from gtea.training.device import resolve_device

    with progress_bar() as progress:
        way = Way(sampled, None if cache is None else Path(cache), progress)
        result = evaluate(
            Path(model), Path(store), labels, as_of=as_of, unknown=unknown, way=way, device=resolve_device(device)
        )
    if as_json:
        print_json(result)
        return
    click.echo(f"{result['accounts']:,} accounts as of {result['as_of_date']}")
    print_unknown(result["labels"])
    for name, value in result["metrics"].items():
        click.echo(f"{name:<22} {value:.4f}")
