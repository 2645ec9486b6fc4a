"""``gtea investigate``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gtea.cli.bars import progress_bar
from gtea.cli.output import (
    bad_rows_option,
    given,
    json_option,
    names_option,
    print_unknown,
    print_warnings,
    spreadsheet_option,
)
from gtea.cli.terminal import ask, cell, print_json, say
from gtea.cli.train import device_option, print_left_out, result_lines, split_option
from gtea.errors import UsageError

if TYPE_CHECKING:
    from gtea.ingestion.column_roles import ColumnRoles, Role
    from gtea.investigation.investigation import InvestigationRequest, InvestigationResult
    from gtea.store.schema import EventColumns
    from gtea.store.time_units import TimeUnit
    from gtea.training.loop import TrainingReport


_NO_ACCOUNT = "no column of text or whole numbers is left"
_NOTHING_FITS: dict[Role, str] = {
    "src": _NO_ACCOUNT,
    "dst": _NO_ACCOUNT,
    "time": "no column has dates as in 2024-05-31 12:00:00, or whole numbers",
}


@click.command("investigate")
@click.argument("transactions")
@click.option("--labels", required=True, metavar="FILE", help="The accounts that are known: a table of account, label.")
@click.option("--out", required=True, metavar="DIR", help="The folder of the investigation.")
@click.option("--src", metavar="COL", help="Column of the account that sends; else guessed.")
@click.option("--dst", metavar="COL", help="Column of the account that receives; else guessed.")
@click.option("--time", metavar="COL", help="Column of the time; else guessed.")
@click.option(
    "--time-unit",
    type=click.Choice(["auto", "s", "ms", "us", "ns", "days", "step"]),
    help="Unit of numeric times, as in gtea ingest; else guessed: step for small whole numbers.",
)
@names_option("--features", "Numeric columns of an event; else guessed.")
@names_option("--categorical", "Text columns of an event; else guessed.")
@click.option("--positive", metavar="CLASS", help="The class to look for; else the rarer one.")
@click.option(
    "--prevalence", metavar="P", type=float, help="The share of positives in reality, if labels were sampled."
)
@click.option("--budget", metavar="N", type=int, help="Set the threshold so that N accounts are alerts.")
@click.option("--precision", metavar="P", type=float, help="Set the threshold so that this share of alerts is right.")
@split_option
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the training; repeatable.")
@click.option("--top", default=200, show_default=True, metavar="N", help="How many accounts get a page of the report.")
@click.option("--retrain", is_flag=True, help="Train a new model, even if labels, columns and settings are the same.")
@bad_rows_option
@spreadsheet_option
@device_option
@json_option
def command(
    transactions: str,
    labels: str,
    out: str,
    src: str | None,
    dst: str | None,
    time: str | None,
    time_unit: TimeUnit | None,
    features: tuple[str, ...],
    categorical: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """From a table of TRANSACTIONS and some labelled accounts to a ranked list of all accounts, with reasons.

    Finds the columns, and says what it took for what; ingests, trains the default model, scores everybody, and writes
    DIR/scores.csv, DIR/report and DIR/MODEL_CARD.md. What is there already is used again: with a table that has grown,
    the model is kept (--retrain trains another), and the new state is scored.

    \b
      gtea investigate transactions.csv --labels labels.csv --out case
      gtea investigate transactions.csv --labels labels.csv --src payer --dst payee --time ts --out case
    """
    from gtea.ingestion.column_roles import counts_steps, guess_roles, suspicious_class
    from gtea.ingestion.table_files import find_files
    from gtea.ingestion.table_sample import sample_columns
    from gtea.investigation.investigation import InvestigationRequest
    from gtea.store.schema import EventColumns
    from gtea.tasks.decision_options import DecisionOptions

    files = [found for name in (transactions, labels) for found in find_files([name])]
    if len(files) != 2:
        raise UsageError(f"{transactions}: must be one file. Ingest several with gtea ingest, then gtea train.")
    named: dict[Role, str | None] = {"src": src, "dst": dst, "time": time}
    sampled = sample_columns(files[0])
    guess = guess_roles(sampled, named)
    _require_readable_dates(guess, transactions)
    roles = {**guess.roles, **_asked(guess, transactions, labels, out)}
    columns = EventColumns(
        roles["src"],
        roles["dst"],
        roles["time"],
        features if given("features") else guess.features,
        categorical if given("categorical") else guess.categorical,
    )
    steps = time_unit is None and any(each.name == columns.time and counts_steps(each) for each in sampled)
    if not as_json:
        say(*_guess_lines(columns, guess.ignored))
        if steps:
            say(f"times: {columns.time} counts steps, it has no dates; if it has, --time-unit s or another unit")
    found = None if options["positive"] else suspicious_class(sample_columns(files[1]))
    if found is not None:
        options["positive"] = found[0]
        if not as_json:
            say(f"looking for: {cell(found[0])}; --positive {shlex.quote(cell(found[1]))} looks for the other")
    decisions = DecisionOptions(*(options.pop(name) for name in ("prevalence", "budget", "precision")))
    request = InvestigationRequest(
        files[0],
        files[1],
        Path(out).absolute(),
        columns,
        guess.ignored,
        time_unit=time_unit or ("step" if steps else "auto"),
        decisions=decisions,
        **options,
    )
    run(request, as_json=as_json)


def run(request: InvestigationRequest, *, as_json: bool) -> InvestigationResult:
    """Investigate, with one bar for all steps, and print what was found."""
    from gtea.investigation.investigation import investigate

    with progress_bar() as progress:

        def listener(report: TrainingReport) -> None:
            progress("training", (report.epoch + report.done) / report.epochs)

        result = investigate(request, listener, progress)
    if as_json:
        print_json(result)
    else:
        _show(result)
    return result


def _asked(guess: ColumnRoles, transactions: str, labels: str, out: str) -> dict[Role, str]:
    """The roles that could not be guessed: ask, if somebody is there to answer."""
    from gtea.ingestion.column_roles import ROLES

    if not guess.unsure:
        return {}
    if sys.stdin.isatty() and all(guess.unsure.values()):
        return {role: ask(f"Which column is {ROLES[role]}?", names) for role, names in guess.unsure.items()}
    role, names = next(iter(guess.unsure.items()))
    known = {name: guess.roles.get(name, name.upper()) for name in ROLES}
    line = ["gtea", "investigate", transactions, "--labels", labels]
    line += [word for name, column in known.items() for word in (f"--{name}", column)]
    could_be = f"it could be {', '.join(map(repr, names))}" if names else _NOTHING_FITS[role]
    raise UsageError(
        f"{transactions}: can't tell which column is {ROLES[role]} ({could_be}). "
        f"Name it: {shlex.join([*line, '--out', out])}"
    )


def _require_readable_dates(guess: ColumnRoles, transactions: str) -> None:
    """Stop where the time is a column whose dates would be misread, or where there is no other that could be it."""
    foreign = ", ".join(map(repr, guess.foreign_dates))
    if foreign and (guess.roles.get("time") in guess.foreign_dates or guess.unsure.get("time") == ()):
        raise UsageError(
            f"{transactions}: dates must be written year first, as in 2024-05-31 or 2024-05-31 12:00:00 (those of "
            f"{foreign} are not). Write them so, in a spreadsheet or a script, or name another column by --time."
        )


def _guess_lines(columns: EventColumns, ignored: Mapping[str, str]) -> list[str]:
    lines = [f"columns: {columns.src} pays {columns.dst} at {columns.time}"]
    if columns.features or columns.categorical:
        numbers = ", ".join(columns.features)
        kinds = ", ".join(f"{name} (text)" for name in columns.categorical)
        lines.append(f"features of an event: {', '.join(each for each in (numbers, kinds) if each)}")
    return lines + [f"left out: {name or '(no name)'}, because it {reason}" for name, reason in ignored.items()]


def _dropped_lines(rows: Mapping[str, Any]) -> list[str]:
    if not rows["dropped"]:
        return []
    reasons = ", ".join(f"{reason.replace('_', ' ')} {count:,}" for reason, count in rows["dropped"].items())
    where = f"; they are in {rows['quarantine']}" if rows["quarantine"] else ""
    return [f"dropped: {rows['rows_in'] - rows['rows_kept']:,} of {rows['rows_in']:,} rows ({reasons}){where}"]


def _show(result: InvestigationResult) -> None:
    from gtea.report.figures import score_text

    out, scores = result["out"], result["scores"]
    counts = result["store"]
    seen = "read" if result["new_store"] else "unchanged"
    say(f"{counts['events']:,} events of {counts['nodes']:,} accounts ({seen})", *_dropped_lines(result["rows"]), "")
    if not result["new_model"]:
        say("model: kept, because labels, columns and settings are the same; --retrain trains another")
    say(*result_lines(result["model"]))
    print_unknown(result["model"].get("labels", {}))
    print_left_out(result["model"].get("split", {}))
    print_warnings(result["model"])
    report = result["report"]
    new = ", without those that it was trained with" if report["unlabelled"] else ""
    say("", f"the first of {scores['accounts']:,} accounts as of {scores['as_of_date']}{new}:")
    for number, case in enumerate(report["first"], start=1):
        say(f"{number:>4}  {score_text(case['score']):>8}  {cell(case['account'])}  {case['reason']}")
    say("", f"in {out}: scores.csv, MODEL_CARD.md, and investigation.json with the command of each step")
    say(f"open {report['index']}: {report['pages']:,} accounts with their reasons")
