"""``gtea explain``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gtea.cli.bars import progress_bar
from gtea.cli.output import given, json_option
from gtea.cli.places import MODEL, STORE
from gtea.cli.terminal import cell, print_json, say, warn
from gtea.cli.train import device_option
from gtea.errors import UsageError

if TYPE_CHECKING:
    from gtea.explain.explainer import Explainer
    from gtea.explain.explanation import Explanation
    from gtea.explain.fidelity import Fidelity

_SHOWN = 10


@click.command("explain")
@click.argument("model", type=MODEL)
@click.argument("store", type=STORE)
@click.argument("account", required=False)
@click.argument("other", required=False)
@click.option("--as-of", metavar="T", help="Explain the score as of T; default just after the last event.")
@click.option("--amount", metavar="COL", help="The event feature that is summed up as received and sent.")
@click.option("--html", metavar="FILE", help="Write a page about the account: it works in any browser, and prints.")
@click.option("--audit", is_flag=True, help="Test how well explanations of alerts hold, instead of explaining one.")
@click.option(
    "--accounts", metavar="N", type=click.IntRange(1), default=50, show_default=True, help="Audit: how many alerts."
)
@click.option("--out", metavar="PATH", help="Audit: write PATH.md, PATH.svg and PATH.json.")
@device_option
@json_option
def command(
    model: str,
    store: str,
    account: str | None,
    other: str | None,
    as_of: str | None,
    amount: str | None,
    html: str | None,
    audit: bool,
    accounts: int,
    out: str | None,
    device: str,
    as_json: bool,
) -> None:
    """Explain why MODEL gives ACCOUNT of STORE its score or, for a link model, the pair ACCOUNT OTHER.

    The reason is the effect of removal: for each counterparty, the score if the two had never dealt with each other,
    everything that follows from it included. It is the score of a store ingested without these rows, exactly.

    \b
      gtea explain payments.model payments.store a0042
      gtea explain payments.model payments.store a0042 --as-of 2024-03-01 --json
      gtea explain payments.model payments.store a0042 --html case.html
      gtea explain --audit payments.model payments.store --accounts 50 --out fidelity
    """
    from gtea.explain.explainer import Explainer
    from gtea.explain.fidelity import audit as audit_alerts
    from gtea.explain.fidelity_page import write_fidelity
    from gtea.runtime.device import resolve_device

    if audit == (account is not None):
        raise UsageError("explain: give an ACCOUNT, or --audit, and not both.")
    for name, value in (("--accounts", given("accounts")), ("--out", out is not None)):
        if value and not audit:
            raise UsageError(f"{name}: only goes with --audit. Leave it out.")
    if html is not None and (account is None or other is not None):
        raise UsageError("--html: is about one account. Give an ACCOUNT of a model that scores accounts.")
    explainer = Explainer.open(Path(model), Path(store), resolve_device(device), as_of, amount=amount)
    if account is not None:
        found = explainer.explain(account, other)
        if as_json:
            print_json(found.to_json())
        else:
            print_explanation(found)
        if html is not None:
            _write_page(explainer, found, Path(model), Path(html))
        return
    with progress_bar() as progress:
        fidelity = audit_alerts(explainer, accounts, progress)
    written = [] if out is None else write_fidelity(Path(out), fidelity)
    if as_json:
        print_json(fidelity.to_json())
        return
    _print_fidelity(fidelity)
    for path in written:
        say(f"written: {path!s}")


def _write_page(explainer: Explainer, found: Explanation, model: Path, path: Path) -> None:
    from gtea.report.report import write_single_case

    with progress_bar() as progress:
        write_single_case(explainer, found, model, path, progress)
    warn(f"page written to {path}")


def print_explanation(found: Explanation) -> None:
    """Print an explanation for people: ids are cut, and can't be anything but text."""
    subject = " -> ".join(map(cell, found.pair or (found.account,)))
    say(f"{subject} as of {found.as_of}")
    verdict = (
        "" if found.threshold is None else f", {'an alert' if found.alert else 'no alert'} at {found.threshold:.4f}"
    )
    say(f"score {found.score:.4f} ({found.label}){verdict}")
    if not found.active:
        say("no event before this time: the score says nothing about it")
    opinions = {"network": found.opinions.network, "trees": found.opinions.trees}
    known = [f"{name} {value:.4f}" for name, value in opinions.items() if value is not None]
    if known:
        say(f"opinions: {', '.join(known)}")
    if found.own_statistics:
        say("its own numbers, by what the score would be with the median account's:")
    for statistic in found.own_statistics:
        say(f"  {statistic.effect:+7.2f}  {statistic.score_at_median:.4f}  {statistic.sentence}")
    _print_counterparties(found)
    _print_what_if(found)


def _print_counterparties(found: Explanation) -> None:
    zero = f", {found.zero_weight.count:,} of them with attention weight zero" if found.zero_weight.count else ""
    say(f"{found.num_counterparties:,} counterparties{zero}; the strongest:")
    say("   effect  without   weight  events  account")
    for each in found.counterparties[:_SHOWN]:
        weight = "       " if each.weight is None else f"{each.weight:7.4f}"
        figures = f"{each.effect:+7.2f}  {each.score_without:7.4f}  {weight}  {each.num_events:6,}"
        say(f"  {figures}  {cell(each.account)}")


def _print_what_if(found: Explanation) -> None:
    if found.removal_curve:
        last, mean = found.removal_curve[-1], found.random_curve.mean[-1]
        say(
            f"without the {len(found.removal_curve)} that raise it most, the score would be {last:.4f}; "
            f"without as many at random, {mean:.4f}"
        )
    if found.what_if is not None and not found.what_if.alert:
        count, proven = len(found.what_if.accounts), found.what_if.proven_smallest
        say(
            f"without {count:,} of them it would be no alert ({found.what_if.score_without:.4f}), "
            f"{'and no smaller set will do' if proven else 'the smallest set found'}:"
        )
        for name in found.what_if.accounts[:_SHOWN]:
            say(f"  {cell(name)}")
        if count > _SHOWN:
            say(f"  and {count - _SHOWN:,} more")


def _print_fidelity(found: Fidelity) -> None:
    say(f"{len(found.accounts):,} alerts as of {found.as_of}")
    say("order        mean score  fall of log-odds  explanation ahead")
    for order, summary in found.orders.items():
        ahead = "" if order == "removal" else f"{100 * summary.behind_removal:6.0f} % of accounts"
        say(f"{order:<11}  {summary.mean_score:10.4f}  {summary.mean_drop:16.3f}  {ahead}")
    say(f"{found.seconds_per_account:.3f} s per account for the effects of all its counterparties")
