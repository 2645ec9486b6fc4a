"""``gtea ingest``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gtea.cli.bars import progress_bar
from gtea.cli.carriers import on_option, parts_option, say_others_end, work_option
from gtea.cli.output import (
    any_date_option,
    bad_rows_option,
    given,
    json_option,
    memory_option,
    names_option,
    query_option,
)
from gtea.errors import UsageError

if TYPE_CHECKING:
    from gtea.runtime.progress import Progress
    from gtea.store.store import Store

_AT_ONCE = ("query", "nodes", "node_id", "node_features", "min_events_per_edge", "max_degree")
"""Options that need all of the input in one place."""


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
@on_option
@parts_option
@work_option
@click.option(
    "--sorted-parts",
    is_flag=True,
    help="With --on: the rows of FILES, one file after another, are in order of the lower account, the higher account "
    "and the time. Each file is a part.",
)
@json_option
def command(files: tuple[str, ...], as_json: bool, on: str | None, **options: Any) -> None:
    """Read events from FILES into a store.

    FILES are CSV, TSV (both may be gzipped) or Parquet, or globs of them, read in the order given, or the address of a
    database with --query. Account ids are kept exactly as written: 00123, 0123 and 123 are three accounts. Every
    dropped row is counted in STORE/data_report.json.

    With --on, files are read and events are sorted in parts, by several processes or machines, to the same bytes; each
    has --memory for itself. Whatever a worker has finished is kept: the same command goes on from there.

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

    only_on = {name: options.pop(name) for name in ("parts", "work", "sorted_parts")}
    if on is None and any(map(given, only_on)):
        raise UsageError("--parts, --work, --sorted-parts: only go with --on. Leave them out.")
    with progress_bar() as progress:
        if on is None:
            store = ingest(list(files), progress=progress, **options)
        else:
            found = _ingested_on(on, files, {**options, **only_on}, progress)
            if found is None:
                say_others_end(on, options["out"])
                return
            store = found
    show(store, as_json)


def _ingested_on(on: str, files: tuple[str, ...], options: dict[str, Any], progress: Progress) -> Store | None:
    """Ingest in parts; None if another process ends the work."""
    from gtea.cluster.carriers import carrier_of
    from gtea.cluster.ingestion.ingest_parts import ingest_on

    at_once = {name: options.pop(name) for name in _AT_ONCE}
    if any(at_once.values()):
        raise UsageError(
            "--on: goes without --query, --nodes, --min-events-per-edge and --max-degree. Leave one of them out."
        )
    options["work"] = None if options["work"] is None else Path(options["work"])
    if options["sorted_parts"] and options["parts"]:
        raise UsageError("--sorted-parts: each file is a part (got --parts, too). Leave it out.")
    return ingest_on(carrier_of(on), list(files), progress=progress, **options)
