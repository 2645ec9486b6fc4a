"""What to look at next: the counterparties of a case that lead further, each with its reasons in words.

First come those that raise the score most, together, and then one or more that are known to be of the class that is
looked for. Last come the one that paid most of what the account received and the one that got most of what it sent, if
they are not among them: where money comes from and goes is worth a look whatever a model reads. Further ones that are
cases of the same report are named, too. Every figure is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gtea.report.case import TRACE, Case, Pair
from gtea.report.figures import amount_text, counted, percent_text, score_text
from gtea.report.shown import short_id, shown

_STEPS = 3
_ALSO = 12
_MAIN_SHARE = 0.25
"""Who paid, or got, at least so much of all is worth a look."""
_LARGE_SHARE = 0.1
"""What is a smaller share of all that was paid, or came in, is told as a sum alone."""


class NextStep(NamedTuple):
    """A counterparty to look at."""

    whole: str
    short: str
    case: int | None
    """The number of its own case in the report."""
    words: str


class NextSteps(NamedTuple):
    """What to look at next."""

    steps: tuple[NextStep, ...]
    also: tuple[NextStep, ...]
    """Further counterparties that are cases themselves, without words."""


def next_steps(case: Case, cases: Mapping[int, int]) -> NextSteps:
    """The counterparties to look at next.

    Args:
        cases: The numbers of the cases of a report, by node.
    """
    pairs = [pair for pair in case.raising if pair.node != case.dealings.node]
    chosen = [pair for pair in case.named if pair.node != case.dealings.node]
    chosen.sort(key=lambda pair: not _is_known(case, pair))
    known = [pair for pair in pairs if _is_known(case, pair) and all(pair is not each for each in chosen)]
    chosen += known[: max(1, _STEPS - len(chosen))]
    for sent in (False, True):
        main = max(pairs, key=lambda pair: _share(case, pair, sent=sent), default=None)
        if (
            main is not None
            and _share(case, main, sent=sent) >= _MAIN_SHARE
            and all(main is not each for each in chosen)
        ):
            chosen.append(main)
    rest = [pair for pair in pairs if pair.node in cases and not any(pair is each for each in chosen)]
    return NextSteps(
        tuple(_step(case, pair, cases, _words(case, pair)) for pair in chosen),
        tuple(_step(case, pair, cases, "") for pair in rest[:_ALSO]),
    )


def num_known(case: Case) -> int:
    """How many counterparties are known to be of the class that is looked for."""
    return sum(_is_known(case, pair) for pair in case.pairs if pair.node != case.dealings.node)


def _is_known(case: Case, pair: Pair) -> bool:
    return pair.known is not None and pair.known == case.explanation.label


def _step(case: Case, pair: Pair, cases: Mapping[int, int], words: str) -> NextStep:
    return NextStep(shown(pair.about.account), short_id(pair.about.account), cases.get(pair.node), words)


def _words(case: Case, pair: Pair) -> str:
    parts = [f"known as “{shown(pair.known or '', 40)}”"] if _is_known(case, pair) else []
    parts += [
        _moved(case, pair, sent=sent)
        for sent in (False, True)
        if (pair.num_sent if sent else len(pair.time) - pair.num_sent)
    ]
    when = case.clock.between(int(pair.time[0]), int(pair.time[-1]))
    parts[-1] += f", {when}" if "," in parts[-1] else f" {when}"
    effect, without = pair.about.effect, score_text(pair.about.score_without)
    if without != score_text(case.explanation.score) and len(case.pairs) > 1:
        parts.append(f"without it the score would be {without}")
    strongest = max(pair.about.bursts, key=lambda burst: burst.effect, default=None)
    if strongest is not None and strongest.effect > max(effect / 2, TRACE) and strongest.num_events < len(pair.time):
        span = pair.bursts[pair.about.bursts.index(strongest)]
        parts.append(
            f"without its {strongest.num_events:,} events {case.clock.between(*span)} alone, "
            f"{score_text(strongest.score_without)}"
        )
    return "; ".join(parts)


def _moved(case: Case, pair: Pair, *, sent: bool) -> str:
    """What passed in one direction, as a sum and as a share of all that did."""
    number = pair.num_sent if sent else len(pair.time) - pair.num_sent
    if not case.has_amounts:
        return f"{counted(number, 'event')} {'sent to' if sent else 'received from'} it"
    amount, share = float(pair.amount[pair.sent == sent].sum()), _share(case, pair, sent=sent)
    of_all = ""
    if share >= _LARGE_SHARE:
        of_all = f", {percent_text(share)} of what the account {'sent' if sent else 'received'}"
    times = "" if number == 1 else f" in {number:,} payments"
    return f"{'got' if sent else 'paid'} {amount_text(amount)}{times}{of_all}"


def _share(case: Case, pair: Pair, *, sent: bool) -> float:
    """The share of a pair in all that the account received, or sent; 0 if there are no amounts, or negative ones."""
    dealings = case.dealings
    total = float(dealings.amount[dealings.sent == sent].sum()) if case.has_amounts else 0.0
    amount = float(pair.amount[pair.sent == sent].sum())
    return amount / total if total > 0 and 0 <= amount <= total else 0.0
