"""``gtea ingest``."""

from __future__ import annotations

from typing import Any

import click

from gtea.cli.bars import progress_bar
from gtea.cli.output import any_date_option, bad_rows_option, json_option, memory_option, names_option, query_option


@click.command("ingest")
@click.argument("files", nargs=-1, required=True)
@query_option
@click.option("--src", metavar="COL", help="Column of the account that sends.")
@click.option("--dst", metavar="COL", help="Column of the account that receives.")
@click.option("--time", metavar="COL", help="Column of the time: numbers, ISO 8601 text or timestamps.")
@click.option("--out", required=True, metavar="STORE", help="The folder to create.")
@names_option("--features", "Numeric columns of an event, kept as float32.")
@names_option("--categorical", "Text columns of an event, kept as codes with a vocabulary.")
@click.option("--nodes", metavar="FILE", help="A table of accounts with static features.")
@click.option("--node-id", metavar="COL", help="Its column of the account.")
@names_option("--node-features", "Its numeric columns.")
@click.option(
    "--labels", metavar="FILE", help="Your labels file. It is not stored; its columns are refused as features."
)
@click.option(
    "--time-unit",
    type=click.Choice(["auto", "s", "ms", "us", "ns", "days", "step"]),
    default="auto",
    show_default=True,
    help="Unit of numeric times since 1970-01-01; step for a counter. auto detects it and reports what it found.",
)
@click.option("--timezone", default="UTC", show_default=True, metavar="TZ", help="Time zone of dates without one.")
@any_date_option
@click.option(
    "--format",
    type=click.Choice(["auto", "csv", "tsv", "parquet", "jodie", "snap"]),
    default="auto",
    show_default=True,
    help="What the files are; auto goes by their names. jodie and snap need no column options.",
)
@click.option("--delimiter", metavar="CHAR", help="Of CSV files; detected from the header if not given.")
@bad_rows_option
@click.option("--directed", is_flag=True, help="Keep the two directions of a pair as two edges.")
@click.option(
    "--self-loops",
    type=click.Choice(["drop", "keep"]),
    default="drop",
    show_default=True,
    help="Events from an account to itself: drop and count them, or keep them as an edge. The account always stays.",
)
@click.option("--min-events-per-edge", default=0, metavar="N", help="Drop pairs with fewer events.")
@click.option("--max-degree", default=0, metavar="N", help="Then drop accounts with more partners.")
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace the store at --out. The old one stays until the new one is complete.",
)
@memory_option
@json_option
def command(files: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Read events from FILES into a store.

    FILES are CSV, TSV (both may be gzipped) or Parquet, or globs of them, read in the order given, or the address of a
    database with --query. Account ids are kept exactly as written: 00123, 0123 and 123 are three accounts. Every
    dropped row is counted in STORE/data_report.json.

    \b
      gtea ingest payments.csv --src payer --dst payee --time timestamp --features amount --out payments.store
      gtea ingest 'daily/*.parquet' --src from --dst to --time day --time-unit days --out daily.store
      gtea ingest wikipedia.csv.gz --format jodie --out wikipedia.store
      gtea ingest sx-mathoverflow.txt.gz --format snap --out mathoverflow.store
      gtea ingest postgresql://reader@db.bank/core --query 'SELECT payer, payee, booked, amount FROM payments' \\
           --src payer --dst payee --time booked --features amount --out payments.store
    """
    from gtea.cli.info import show
    from gtea.ingestion.ingest import ingest

    with progress_bar() as progress:
        store = ingest(list(files), progress=progress, **options)
    show(store, as_json)
