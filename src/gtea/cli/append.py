"""``gtea append``."""

from __future__ import annotations

from typing import Any

import click

from gtea.cli.bars import progress_bar
from gtea.cli.output import any_date_option, bad_rows_option, json_option, memory_option, query_option
from gtea.cli.places import LOCAL
from gtea.cli.terminal import say


@click.command("append")
@click.argument("store", type=LOCAL)
@click.argument("files", nargs=-1, required=True)
@query_option
@click.option(
    "--once",
    is_flag=True,
    help="Leave out deliveries that the store has read already: files of the same name and content, rows of a query.",
)
@click.option(
    "--on-duplicate",
    type=click.Choice(["error", "keep", "drop"]),
    default="error",
    show_default=True,
    help="Events that the store already has, equal in every column: stop, keep them as separate events, or drop them.",
)
@click.option("--nodes", metavar="FILE", help="More rows of the node table, if the store has one.")
@bad_rows_option
@any_date_option
@memory_option
@json_option
def command(store: str, files: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Add the events in FILES to STORE, as a new version.

    FILES are read like the first ones: same columns, same time unit. The result is byte for byte what ingesting
    everything at once would give. Readers keep the version that they opened.

    \b
      gtea append payments.store today.csv
      gtea append payments.store overlapping.csv --on-duplicate drop
      gtea append payments.store 'deliveries/*.csv' --once
    """
    from gtea.cli.info import show
    from gtea.ingestion.append import append
    from gtea.store.store import Store

    before = Store.open(store).manifest.folder
    with progress_bar() as progress:
        opened = append(store, list(files), progress=progress, **options)
    if opened.manifest.folder == before and not as_json:
        say("nothing appended: the store has read all of it already")
    show(opened, as_json)
