"""``gtea export``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from gtea.cli.bars import progress_bar
from gtea.cli.output import json_option, spreadsheet_option
from gtea.cli.places import STORE
from gtea.cli.terminal import print_json, say
from gtea.cli.verified import check_store, verify_option
from gtea.errors import UsageError


@click.command("export")
@click.argument("store", type=STORE)
@click.option(
    "--format",
    type=click.Choice(["parquet", "csv", "pyg"]),
    default="parquet",
    show_default=True,
    help="What to write.",
)
@click.option("--out", required=True, metavar="FILE", help="The file to write; replaced in one step if it exists.")
@click.option("--as-of", metavar="T", help="Only events before T: a date, or a number in the unit of the input.")
@verify_option
@spreadsheet_option
@json_option
def command(
    store: str,
    format: Literal["parquet", "csv", "pyg"],
    out: str,
    as_of: str | None,
    verify: bool | None,
    spreadsheet_safe: bool,
    as_json: bool,
) -> None:
    """Write STORE's events to a file, in time order.

    Parquet and CSV have the columns of the input (ids as text, calendar times as UTC timestamps) and can be
    ingested again. pyg writes the tensors of a PyG TemporalData (src, dst, t, msg) as safetensors, and the accounts
    next to it: TemporalData(**safetensors.torch.load_file(FILE)).
    """
    from gtea.store.store import Store

    if spreadsheet_safe and format != "csv":
        raise UsageError("--spreadsheet-safe: goes with --format csv only. Leave it out.")
    check_store(store, verify=verify is not False)
    view = Store.open(store).as_of(as_of)
    with progress_bar() as progress:
        if format == "pyg":
            from gtea.interop import write_pyg

            written = write_pyg(view, Path(out))
        else:
            from gtea.store.export import export_events

            written = export_events(view, Path(out), format, progress, for_spreadsheets=spreadsheet_safe)
    if as_json:
        print_json({"out": out, "format": format, "events": written, "as_of": view.cut})
    else:
        say(f"{written:,} events before {view.store.date(view.cut)} written to {out}")
