"""``gtea synth``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from gtea.cli.output import json_option
from gtea.cli.terminal import print_json, say


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
        say(f"{events:,} payments among {accounts:,} accounts written to {out}")


@command.command("world")
@click.option(
    "--signal",
    type=click.Choice(["own", "partners", "histories", "order"]),
    default="own",
    show_default=True,
    help="What tells illicit accounts from normal ones: see above.",
)
@click.option(
    "--strength",
    default=0.7,
    show_default=True,
    metavar="P",
    help="How separable the classes are: at 0 labels are noise, at 1 the classes hardly overlap.",
)
@click.option(
    "--prevalence",
    default=0.05,
    show_default=True,
    metavar="P",
    help="Share of labelled accounts that are illicit, 0.001 to 0.5.",
)
@click.option("--accounts", default=5_000, show_default=True, metavar="N", help="How many accounts, including hubs.")
@click.option(
    "--events-per-account", default=20.0, show_default=True, metavar="X", help="Payments divided by accounts."
)
@click.option(
    "--labelled", type=int, default=None, metavar="N", help="How many accounts have a label.  [default: all but hubs]"
)
@click.option("--days", default=365, show_default=True, metavar="D", help="Length of the period from 1 January 2024.")
@click.option(
    "--start",
    type=click.Choice(["spread", "together"]),
    default="spread",
    show_default=True,
    help="Accounts appear throughout the period, or all in its first days as in simulators.",
)
@click.option(
    "--growth",
    default=0.0,
    show_default=True,
    metavar="P",
    help="At 0 every account is active for a quarter of the period, at 1 until its end.",
)
@click.option(
    "--drift",
    default=0.0,
    show_default=True,
    metavar="P",
    help="How much amounts and activity of both classes rise, and the signal weakens, over the period.",
)
@click.option(
    "--prior-shift",
    default=0.0,
    show_default=True,
    metavar="P",
    help="How much the share of illicit accounts rises: at 1 from none of the first to twice the prevalence.",
)
@click.option(
    "--hubs", default=0, show_default=True, metavar="H", help="Accounts without a label that deal with 30 % of all."
)
@click.option("--seed", default=0, show_default=True, metavar="S", help="The same seed gives the same bytes.")
@click.option("--out", required=True, metavar="DIR", help="Where to write transactions.parquet and labels.csv.")
@json_option
def world(out: str, as_json: bool, **knobs: Any) -> None:
    """Payments in which one known signal marks illicit accounts: transactions.parquet and labels.csv.

    For testing a model on data that nobody has tuned it on. What illicit accounts tend to do more than normal ones:

    \b
    own        pay more often, more at a time, in amounts that vary more
    partners   deal with large accounts
    histories  get payments back from the partner they paid, not from another
    order      collect small receipts before a large payment, not after it

    In all but the first, statistics of single accounts (counts, amounts, gaps, directions, partners) are the same in
    both classes.
    """
    from gtea.datasets.world import WorldSpec, write_world

    spec = WorldSpec(**knobs)
    write_world(spec, Path(out))
    if as_json:
        counted = {"events": spec.events, "labels": spec.labels, "illicit": spec.illicit}
        print_json({"out": out, **asdict(spec), **counted})
    else:
        say(f"{spec.events:,} payments among {spec.accounts:,} accounts written to {out}")
        say(f"{spec.illicit:,} of {spec.labels:,} labels are illicit; the signal is {spec.signal!r}")
