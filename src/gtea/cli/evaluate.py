"""``gtea evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from gtea.cli.bars import progress_bar
from gtea.cli.output import cache_option, json_option, print_unknown, sampled_option
from gtea.cli.places import MODEL, STORE
from gtea.cli.terminal import print_json, say
from gtea.cli.train import device_option, unknown_option
from gtea.cli.verified import check_store, verify_option
from gtea.errors import UsageError


@click.command("evaluate")
@click.argument("model", type=MODEL)
@click.argument("store", type=STORE)
@click.option("--labels", metavar="FILE", help="Labelled accounts: a table with the columns account and label.")
@click.option(
    "--pairs", metavar="FILE", help="For a link model: labelled pairs, a table with the columns src, dst and label."
)
@click.option(
    "--positive",
    metavar="CLASS",
    help="With --pairs: the label that means a link; default the second by name, as in 0 and 1.",
)
@click.option("--as-of", metavar="T", help="Score as of T; default just after the last event.")
@verify_option
@sampled_option
@cache_option
@unknown_option
@device_option
@json_option
def command(
    model: str,
    store: str,
    labels: str | None,
    pairs: str | None,
    positive: str | None,
    as_of: str | None,
    verify: bool | None,
    sampled: bool,
    cache: str | None,
    unknown: Literal["error", "skip"],
    device: str,
    as_json: bool,
) -> None:
    """Evaluate MODEL on labelled accounts of STORE, or on labelled pairs.

    Use labels that the model was not trained on. Accounts and pairs are scored as by gtea score: exactly, unless
    --sampled.

    \b
      gtea evaluate payments.model payments.store --labels later.csv
      gtea evaluate links.model payments.store --pairs met.csv --as-of 2024-06-01
    """
    from gtea.runtime.device import resolve_device
    from gtea.scoring.evaluate import evaluate_accounts, evaluate_pairs
    from gtea.scoring.options import ScoringOptions

    if (labels is None) == (pairs is None):
        raise UsageError("--labels, --pairs: give one of them: labelled accounts, or labelled pairs.")
    if labels is not None and positive is not None:
        raise UsageError("--positive: only goes with --pairs: a model of accounts has its own. Leave it out.")
    check_store(store, verify=bool(verify))  # labels of a few accounts read little of a large store
    with progress_bar() as progress:
        options = ScoringOptions(sampled, None if cache is None else Path(cache), progress)
        asked: dict[str, Any] = {
            "as_of": as_of,
            "unknown": unknown,
            "options": options,
            "device": resolve_device(device),
        }
        if pairs is None:
            result = evaluate_accounts(Path(model), Path(store), labels, **asked)
        else:
            result = evaluate_pairs(Path(model), Path(store), pairs, positive=positive, **asked)
    if as_json:
        print_json(result)
        return
    if pairs is None:
        say(f"{result['accounts']:,} accounts as of {result['as_of_date']}")
        print_unknown(result["labels"])
    else:
        say(f"{result['pairs']:,} pairs as of {result['as_of_date']}")
        print_unknown(result["input"])
    for name, value in result["metrics"].items():
        say(f"{name:<22} {value:.4f}")
