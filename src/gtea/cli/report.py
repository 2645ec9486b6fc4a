"""``gtea report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gtea.cli.bars import progress_bar
from gtea.cli.carriers import on_option, say_others_end, work_option
from gtea.cli.output import given, json_option
from gtea.cli.places import MODEL, STORE
from gtea.cli.terminal import cell, print_json, say
from gtea.cli.train import device_option
from gtea.cli.verified import check_store, verify_option
from gtea.errors import UsageError

if TYPE_CHECKING:
    import torch

    from gtea.report.report import ReportOptions

_SHOWN = 10
_UNITS = {"kb": 10**3, "mb": 10**6, "gb": 10**9}


@click.command("report")
@click.argument("model", type=MODEL)
@click.argument("store", type=STORE)
@click.option("--out", required=True, metavar="DIR", help="The folder to write; one of an earlier report is replaced.")
@click.option("--top", default=200, show_default=True, metavar="N", help="How many accounts, the highest scores first.")
@click.option("--accounts", metavar="FILE", help="Choose among these accounts only; default all accounts of the store.")
@click.option("--unlabelled", is_flag=True, help="Leave out accounts whose labels the model was trained with.")
@click.option("--as-of", metavar="T", help="Score and explain as of T; default just after the last event.")
@click.option("--amount", metavar="COL", help="The event feature that is summed up as received and sent.")
@click.option(
    "--exports/--no-exports",
    default=True,
    show_default=True,
    help="Write files beside each page: transactions and ego network as CSV, GraphML, GEXF and JSON, a draft in words.",
)
@click.option("--csv-limit", metavar="SIZE", help="No transactions.csv larger than this (1MB): the newest are kept.")
@click.option(
    "--exact-ids", is_flag=True, help="Ids in CSV files exactly as they are, also those that a spreadsheet would run."
)
@click.option(
    "--jobs", metavar="N", type=int, help="Processes that write pages; default as many as torch may use cores."
)
@on_option
@work_option
@verify_option
@device_option
@json_option
def command(
    model: str,
    store: str,
    out: str,
    top: int,
    accounts: str | None,
    unlabelled: bool,
    as_of: str | None,
    amount: str | None,
    exports: bool,
    csv_limit: str | None,
    exact_ids: bool,
    jobs: int | None,
    on: str | None,
    work: str | None,
    verify: bool | None,
    device: str,
    as_json: bool,
) -> None:
    """Write a page for each of the accounts of STORE that MODEL finds most suspicious, and an index.

    A page says why the account has its score: the exact effect of each counterparty, when it happened, and what would
    have to be different. Pages work in any browser without a network, and print on A4. Files are named by rank.

    \b
      gtea report payments.model payments.store --top 50 --out report

    With --on, pages are written by several processes or machines, to the same files; after a kill, the same command
    goes on.
    """
    import torch

    from gtea.report.exports import ExportOptions
    from gtea.report.figures import score_text
    from gtea.report.report import ReportOptions, write_report
    from gtea.runtime.device import resolve_device

    if not exports and (csv_limit is not None or exact_ids):
        raise UsageError("--csv-limit, --exact-ids: are about exported files. Leave out --no-exports.")
    if on is None and work is not None:
        raise UsageError("--work: only goes with --on. Leave it out.")
    if on is not None and given("jobs"):
        raise UsageError("--jobs: does not go with --on, which says how many. Leave it out.")
    files = ExportOptions(None if csv_limit is None else _bytes(csv_limit), not exact_ids) if exports else None
    here = 1 if on is not None else torch.get_num_threads()
    options = ReportOptions(top, as_of, accounts, unlabelled, files, amount, here if jobs is None else jobs)
    check_store(store, verify=verify is not False)
    asked = (Path(model), Path(store), Path(out), options)
    if on is not None:
        found = _written_on(on, *asked, resolve_device(device), None if work is None else Path(work))
        if found is None:
            say_others_end(on, out)
            return
        record = found
    else:
        with progress_bar() as progress:
            record = write_report(*asked, device=resolve_device(device), progress=progress)
    if as_json:
        print_json(record)
        return
    cases = record["cases"]
    say(f"{len(cases):,} of {record['accounts_ranked']:,} accounts as of {record['as_of']}, written to {out}")
    for number, case in enumerate(cases[:_SHOWN], start=1):
        say(f"{number:>6}  {score_text(case['score']):>8}  {cell(case['account'])}  {case['reason']}")
    say(f"open {Path(out) / 'index.html'}")


def _written_on(
    on: str, model: Path, store: Path, out: Path, options: ReportOptions, device: torch.device, work: Path | None
) -> dict[str, Any] | None:
    from gtea.cluster.carriers import carrier_of
    from gtea.report.report_tasks import write_report_on

    carrier = carrier_of(on)
    with progress_bar() as progress:
        return write_report_on(carrier, model, store, out, options, device=device, work=work, progress=progress)


def _bytes(text: str) -> int:
    """A size such as 1MB, 500 kB or 1000000."""
    words = text.strip().lower()
    factor = _UNITS.get(words[-2:], 1)
    try:
        size = float(words[:-2] if factor > 1 else words) * factor
    except ValueError:
        size = 0.0
    if not 1 <= size < 2**63:
        raise UsageError(f"--csv-limit: must be a size in bytes, kB, MB or GB (got {text!r}). Try 1MB.")
    return int(size)
