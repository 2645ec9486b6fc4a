"""``gtea score``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from gtea.cli.bars import progress_bar
from gtea.cli.carriers import on_option, parts_option, say_others_end, work_option
from gtea.cli.output import cache_option, given, json_option, print_unknown, sampled_option, spreadsheet_option
from gtea.cli.places import MODEL, STORE, TABLE
from gtea.cli.terminal import cell, print_json, say, warn
from gtea.cli.train import device_option, unknown_option
from gtea.cli.verified import check_store, verify_option
from gtea.errors import UsageError

if TYPE_CHECKING:
    from gtea.scoring.score_changes import ChangesSummary


@click.command("score")
@click.argument("model", type=MODEL)
@click.argument("store", type=STORE)
@click.option(
    "--out",
    required=True,
    type=TABLE,
    metavar="FILE",
    help="scores.parquet or scores.csv, also as s3://bucket/scores.parquet; or postgresql://host/database/table or "
    "sqlite:///file/table, of which all rows are replaced in one transaction.",
)
@click.option("--accounts", metavar="FILE", help="Only these accounts; default all accounts of the store.")
@click.option("--pairs", metavar="FILE", help="Pairs to score with a link model: a table with the columns src and dst.")
@click.option("--as-of", metavar="T", help="Score as of T; default just after the last event.")
@click.option(
    "--prevalence", metavar="P", type=float, help="The share of positives in reality, if the labels were sampled."
)
@click.option("--since", metavar="FILE", help="Earlier scores: also write what changed and why, to OUT.changes.")
@click.option("--since-as-of", metavar="T", help="As of when the earlier scores were made; a CSV file can't say.")
@click.option(
    "--min-change",
    default=0.01,
    show_default=True,
    metavar="D",
    help="The smallest rise or fall that counts as a change; new and ended alerts always do.",
)
@verify_option
@sampled_option
@cache_option
@on_option
@parts_option
@work_option
@spreadsheet_option
@unknown_option
@device_option
@json_option
def command(
    model: str,
    store: str,
    out: str,
    accounts: str | None,
    pairs: str | None,
    as_of: str | None,
    prevalence: float | None,
    since: str | None,
    since_as_of: str | None,
    min_change: float,
    verify: bool | None,
    sampled: bool,
    cache: str | None,
    on: str | None,
    parts: int | None,
    work: str | None,
    spreadsheet_safe: bool,
    unknown: Literal["error", "skip"],
    device: str,
    as_json: bool,
) -> None:
    """Score the accounts of STORE with MODEL, the most suspicious first; or pairs, the most likely first.

    Columns: account, score, rank, the probability of each class, alert: whether the score is at or above the model's
    threshold, active: false for an account without an event before --as-of, of which nothing is known: it is no
    alert, and events: how many it has. An account that training never saw is scored like any other. With --pairs:
    src, dst, score, rank, active.

    Scores are exact: they read all neighbours of all neighbours, and no seed changes them. With --cache, a killed run
    resumes.

    With --since, the accounts that are new, have risen or have fallen since earlier scores are written beside the
    scores, to scores.changes.parquet or to the table scores_changes: with why (own events, counterparties' events,
    neither), how many new events there are, since when, and with whom.

    With --on, accounts or pairs are scored in parts, by several processes or machines, to the same bytes. Whatever a
    worker has finished is kept: the same command goes on from there. The scores go to a file, without --since.

    Ids and classes are written exactly as they were read, so that the file joins with your own tables. A spreadsheet
    would run one such as =1+1 as a formula: make a file for it with --spreadsheet-safe.
    """
    from gtea.runtime.device import resolve_device
    from gtea.scoring.options import ScoringOptions
    from gtea.scoring.table import Since, score_accounts, score_pairs

    if accounts is not None and pairs is not None:
        raise UsageError("--accounts, --pairs: give one of them at most.")
    if pairs is not None and prevalence is not None:
        raise UsageError("--prevalence: does not apply to --pairs. Leave it out.")
    if pairs is not None and since is not None:
        raise UsageError("--since: compares scores of accounts (got --pairs, too). Leave it out.")
    if since is None and (given("since_as_of") or given("min_change")):
        raise UsageError("--since-as-of, --min-change: only go with --since. Leave them out.")
    if accounts is None and pairs is None and given("unknown"):
        raise UsageError("--unknown: only goes with --accounts or --pairs. Leave it out.")
    if on is None and (given("parts") or given("work")):
        raise UsageError("--parts, --work: only go with --on. Leave them out.")
    if on is not None and (sampled or cache is not None or since is not None):
        raise UsageError("--on: goes without --since, --sampled and --cache. Leave one of them out.")
    if on is not None and verify is None:
        verify = False  # every worker checks what it reads of the store, and none of them reads all of it
    # A few accounts read little of a large store.
    check_store(store, verify=accounts is None and pairs is None if verify is None else verify)
    with progress_bar() as progress:
        options = ScoringOptions(sampled, None if cache is None else Path(cache), progress)
        asked: dict[str, Any] = {
            "as_of": as_of,
            "unknown": unknown,
            "options": options,
            "for_spreadsheets": spreadsheet_safe,
            "device": resolve_device(device),
        }
        if on is not None:
            from gtea.cluster.carriers import carrier_of
            from gtea.cluster.scoring.pair_scores import score_pairs_on
            from gtea.cluster.scoring.part_scores import score_accounts_on

            del asked["options"]
            asked |= {"parts": parts, "work": None if work is None else Path(work), "progress": progress}
            given_files, carrier = (Path(model), Path(store)), carrier_of(on)
            if pairs is None:
                asked |= {"accounts": accounts, "prevalence": prevalence}
                made = score_accounts_on(carrier, *given_files, out, **asked)
            else:
                made = score_pairs_on(carrier, *given_files, pairs, out, **asked)
            if made is None:
                say_others_end(on, out)
                return
            result = made
        elif pairs is None:
            asked["prevalence"] = prevalence
            asked["since"] = None if since is None else Since(since, since_as_of, min_change)
            result = score_accounts(Path(model), Path(store), out, accounts=accounts, **asked)
        else:
            result = score_pairs(Path(model), Path(store), pairs, out, **asked)
    if as_json:
        print_json(result)
        return
    kind, names = ("accounts", ("account",)) if pairs is None else ("pairs", ("src", "dst"))
    count = result["accounts"] if pairs is None else result["pairs"]
    say(f"{count:,} {kind} as of {result['as_of_date']}, written to {result['out']}")
    print_unknown(result["input"])
    if "alerts" in result:
        say(f"alerts: {result['alerts']:,} with a score of {result['threshold']:.4f} or more (column alert)")
    if result["inactive"]:
        warn(
            f"warning: {result['inactive']:,} of {count:,} {kind} have no event before {result['as_of_date']} "
            "(column active): their scores say nothing about them"
        )
    for row in result["top"]:
        say(f"{row['rank']:>6}  {row['score']:.4f}  {'  '.join(cell(row[name]) for name in names)}")
    if "changes" in result:
        _show_changes(result["changes"])


def _show_changes(changes: ChangesSummary) -> None:
    say(
        f"since {changes['since']}: {changes['new']:,} new, {changes['risen']:,} risen, {changes['fallen']:,} fallen, "
        f"written to {changes['out']}"
    )
    if changes["new_alerts"] is not None:
        say(f"alerts: {changes['new_alerts']:,} new, {changes['ended_alerts']:,} ended")
    if changes["late_events"]:
        say(f"late: {changes['late_events']:,} ends of events are older than the earlier scores (column late_events)")
    if changes["model_changed"]:
        warn("warning: the earlier scores are of another model: what changed may be the model, not the accounts")
    for row in changes["top"]:
        before = "" if row["previous_score"] is None else f"{row['previous_score']:.4f}"
        say(f"{row['change']:>6}  {before:>6} -> {row['score']:.4f}  {cell(row['account'])}  {row['why']}")
