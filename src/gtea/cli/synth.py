"""``gtea synth``."""

from __future__ import annotations

from pathlib import Path

import click

from gtea.cli.output import json_option, print_json, printable


@click.group("synth")
def command() -> None:
    """Generate data to play with."""


@command.command("payments")
@click.option("--accounts", default=5_000, show_default=True, metavar="N", help="How many accounts.")
@click.option("--events", default=100_000, show_default=True, metavar="M", help="How many payments.")
@click.option(
    "--illicit-share",
    default=0.2,
    show_default=True,
    metavar="P",
    help="Share of labelled accounts that are illicit.",
)
@click.option(
    "--hub",
    "--hubs",
    "hubs",
    is_flag=False,
    flag_value=1,
    default=0,
    metavar="[H]",
    help="Add H accounts (1 by default) with very many partners; they carry no label.",
)
@click.option("--seed", default=0, show_default=True, metavar="S", help="The same seed gives the same bytes.")
@click.option("--out", required=True, metavar="DIR", help="Where to write transactions.parquet and labels.csv.")
@json_option
def payments(accounts: int, events: int, illicit_share: float, hubs: int, seed: int, out: str, as_json: bool) -> None:
    """Payments in which some accounts gamble: transactions.parquet and labels.csv.

    Illicit accounts play rounds of stake and payout with a few partners, in bursts, at night, in a weekly rhythm.
    Account by account, their totals, counts, amounts and hours are those of everybody else: only the histories of
    pairs give them away.
    """
    from gtea.datasets.payments import PaymentsSpec, write_payments

    spec = PaymentsSpec(accounts=accounts, events=events, illicit_share=illicit_share, hubs=hubs, seed=seed)
    write_payments(spec, Path(out))
    facts = {
        "out": out,
        "accounts": accounts,
        "events": events,
        "illicit_share": illicit_share,
        "hubs": hubs,
        "seed": seed,
    }
    if as_json:
        print_json(facts)
    else:
        click.echo(f"{events:,} payments among {accounts:,} accounts written to {printable(out)}")
