"""What commands share: options, and lines that several of them print."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click
from click.core import ParameterSource

from gtea.cli.terminal import say, warn

json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on standard output.")
memory_option = click.option(
    "--memory", default="4GB", show_default=True, metavar="SIZE", help="Stay within about this much memory."
)
bad_rows_option = click.option(
    "--bad-rows",
    type=click.Choice(["error", "skip", "quarantine"]),
    default="error",
    show_default=True,
    help="Rows that can't become events: stop and name them; leave them out, counted by reason; or also write them "
    "to STORE.bad_rows.csv.",
)
any_date_option = click.option(
    "--allow-any-date", is_flag=True, help="Accept dates before 1970 or more than a day ahead of now."
)
sampled_option = click.option(
    "--sampled", is_flag=True, help="Read a sample of the neighbours, as training does, instead of all: approximate."
)
spreadsheet_option = click.option(
    "--spreadsheet-safe",
    is_flag=True,
    help="CSV for a spreadsheet: put a quote before text that it would take for a formula. Such ids no longer join.",
)
query_option = click.option(
    "--query", metavar="SQL", help="Read the result of this query; FILES is then postgresql://... or sqlite:///file."
)
cache_option = click.option(
    "--cache", metavar="DIR", help="Keep edge embeddings here, so that a killed run resumes and later runs reuse them."
)


def print_unknown(report: Mapping[str, Any]) -> None:
    """Print which accounts of a table were left out because the store does not have them."""
    unknown = report.get("unknown", {"accounts": 0})
    if unknown["accounts"]:
        more = ", ..." if unknown["accounts"] > len(unknown["first"]) else ""
        shown = ", ".join(map(repr, unknown["first"]))
        say(f"left out: {unknown['accounts']:,} unknown accounts in {unknown['rows']:,} rows: {shown}{more}")


def print_warnings(result: Mapping[str, Any]) -> None:
    """Print what the split of a training can't show, on standard error."""
    for warning in result.get("warnings", []):
        warn(f"warning: {warning['text']}. {warning['remedy']}")


def given(name: str) -> bool:
    """Whether the user gave an option of the running command."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def split_names(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Callback of options that take COL,COL,..."""
    return tuple(name for name in (value or "").split(",") if name)


def names_option(flag: str, help: str) -> Callable[[Any], Any]:
    """An option that takes column names separated by commas."""
    return click.option(flag, callback=split_names, metavar="COL,COL", help=help)
