"""``gtea demo``."""

from __future__ import annotations

from pathlib import Path

import click

from gtea.cli.output import json_option, progress_bar


@click.command("demo")
@click.option("--out", default="demo", show_default=True, metavar="DIR", help="Where to put the data and the store.")
@click.option("--accounts", default=5_000, show_default=True, metavar="N", help="How many accounts.")
@click.option("--events", default=100_000, show_default=True, metavar="M", help="How many payments.")
@json_option
def command(out: str, accounts: int, events: int, as_json: bool) -> None:
    """Generate payments, ingest them, and show what is in the store.

    Safe to repeat: the store of an earlier run is replaced.
    """
    from gtea.cli.info import show
    from gtea.data.payments import PaymentsSpec, write_payments
    from gtea.store.ingest import ingest

    folder = Path(out)
    with progress_bar() as progress:
        progress("generating payments", None)
        write_payments(PaymentsSpec(accounts=accounts, events=events), folder)
        store = ingest(
            folder / "transactions.parquet",
            src="payer",
            dst="payee",
            time="timestamp",
            features=["amount"],
            labels=folder / "labels.csv",
            out=folder / "payments.store",
            overwrite=True,
            progress=progress,
        )
    if not as_json:
        click.echo(
            f"{events:,} payments among {accounts:,} accounts: {folder}/transactions.parquet, {folder}/labels.csv\n"
        )
    show(store, as_json, histograms=not as_json)
