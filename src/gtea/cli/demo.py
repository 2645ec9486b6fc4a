"""``gtea demo``."""

from __future__ import annotations

import time
from pathlib import Path

import click

from gtea.cli.bars import progress_bar
from gtea.cli.investigate import run
from gtea.cli.output import json_option
from gtea.cli.terminal import say

# A minute or two on two cores; a real run would train longer.
_SETTINGS = ("train.epochs=30",)
_ILLICIT_SHARE = 0.3
_PAGES = 50


@click.command("demo")
@click.option("--out", default="demo", show_default=True, metavar="DIR", help="Where to put the data and the case.")
@click.option("--accounts", default=4_000, show_default=True, metavar="N", help="How many accounts.")
@click.option("--events", default=80_000, show_default=True, metavar="M", help="How many payments.")
@json_option
def command(out: str, accounts: int, events: int, as_json: bool) -> None:
    """Generate payments, and investigate them: train a model, rank all accounts, and say why.

    Some accounts gamble: only the order and timing of payments within a pair give them away, so boosted trees on
    account statistics can't find them. The model is trained on the earliest 60 % of the accounts and tested on the
    latest 20 %. Safe to repeat: the model is used again if the data are the same.
    """
    from gtea.datasets.payments import PaymentsSpec, write_payments
    from gtea.investigation.investigation import InvestigationRequest
    from gtea.store.schema import EventColumns

    started, folder = time.monotonic(), Path(out).absolute()
    with progress_bar() as progress:
        progress("generating payments", None)
        write_payments(PaymentsSpec(accounts=accounts, events=events, illicit_share=_ILLICIT_SHARE), folder)
    transactions, labels = folder / "transactions.parquet", folder / "labels.csv"
    columns = EventColumns("payer", "payee", "timestamp", ("amount",))
    request = InvestigationRequest(
        transactions, labels, folder / "case", columns, positive="illicit", settings=_SETTINGS, top=_PAGES
    )
    if not as_json:
        say(f"payments in {transactions.name}, labels in {labels.name}; training takes a minute or two ...", "")
    run(request, as_json=as_json)
    if not as_json:
        say(f"{time.monotonic() - started:.0f} s. next: gtea investigate with your own table and labels")
