"""What to look at next: the counterparties of a case that lead further, each with its reasons in words.

First come those that are known to be of the class that is looked for, then those that raise the score most. Further
ones that are cases of the same report are named, too. Every figure is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gtea.report.case import TRACE, Case, Pair
from gtea.report.figures import amount_text, counted, percent_text, score_text
from gtea.report.shown import short_id, shown

_STEPS = 3
_ALSO = 12
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
    named = case.named

    def urgency(pair: Pair) -> int:
        return 2 * _is_known(case, pair) + any(pair is each for each in named)

    pairs = [pair for pair in case.raising if pair.node != case.dealings.node]
    wanted = [pair for pair in sorted(pairs, key=urgency, reverse=True) if urgency(pair)]
    chosen = wanted[:_STEPS]
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
    if without != score_text(case.explanation.score):
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
    dealings = case.dealings
    if not case.has_amounts:
        return f"{counted(number, 'event')} {'sent to' if sent else 'received from'} it"
    total = float(dealings.amount[dealings.sent == sent].sum())
    amount = float(pair.amount[pair.sent == sent].sum())
    share = amount / total if total > 0 and 0 <= amount <= total else 0.0
    of_all = ""
    if share >= _LARGE_SHARE:
        of_all = f", {percent_text(share)} of what the account {'sent' if sent else 'received'}"
    times = "" if number == 1 else f" in {number:,} payments"
    return f"{'got' if sent else 'paid'} {amount_text(amount)}{times}{of_all}"
