"""A case in a few sentences, each from exact numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from gtea.report.case import TRACE, Case
from gtea.report.figures import counted, listed, ordinal, score_text
from gtea.report.shown import short_id, shown

_STRONGEST = 3
_NAMED = 6


class Phrase(NamedTuple):
    """Some words of a sentence."""

    text: str
    style: Literal["plain", "strong", "id"] = "plain"


def summary(case: Case) -> list[Phrase]:
    """The paragraph at the head of a page."""
    return [part for sentence in (_rank, _rests_on, _when, _what_if, _label) for part in sentence(case)]


def summary_text(case: Case) -> str:
    """The same as plain text."""
    return "".join(part.text for part in summary(case)).strip()


def one_line(case: Case) -> str:
    """The reason in one line, for a list of accounts."""
    strongest = [pair for pair in case.raising if pair.about.effect >= TRACE][:_STRONGEST]
    if not strongest:
        own = case.explanation.own_statistics
        return own[0].sentence if own else "no counterparty raises the score"
    names = listed([short_id(pair.about.account) for pair in strongest])
    return f"{names} {'raises' if len(strongest) == 1 else 'raise'} it most, {case.clock.between(*case.focus)}"


def _rank(case: Case) -> Iterator[Phrase]:
    yield Phrase("Ranks ")
    yield Phrase(f"{ordinal(case.rank)} of {case.common.num_accounts:,}", "strong")
    yield Phrase(" accounts. ")


def _rests_on(case: Case) -> Iterator[Phrase]:
    curve = case.explanation.removal_curve[:_STRONGEST]
    number = f"{len(case.counting):,} of {counted(len(case.pairs), 'counterparty', 'counterparties')}"
    yield Phrase(f"It rests on {number}: without ")
    yield Phrase({1: "the strongest, ", 2: "the two strongest, ", 3: "the three strongest, "}[len(curve)])
    yield from _names([pair.about.account for pair in case.raising[: len(curve)]])
    yield Phrase(", the score would be ")
    yield Phrase(score_text(curve[-1]), "strong")
    yield Phrase(". ")


def _when(case: Case) -> Iterator[Phrase]:
    yield Phrase("Most of what carries it happened ")
    yield Phrase(case.clock.between(*case.focus), "strong")
    yield Phrase(". ")


def _what_if(case: Case) -> Iterator[Phrase]:
    found = case.explanation.what_if
    if found is None:
        return
    if found.alert or not found.accounts:
        yield Phrase("It would be an alert whichever counterparties are left out: look at its own numbers. ")
        return
    number = len(found.accounts)
    if number == len(case.pairs) > 1:
        yield Phrase(f"Only without all of them would it be no alert ({score_text(found.score_without)}). ")
        return
    yield Phrase(
        "It would be no alert without "
        + ("" if number <= _NAMED else counted(number, "counterparty", "counterparties"))
    )
    if number <= _NAMED:
        yield from _names(found.accounts)
    smallest = ", and no smaller set does it" if found.proven_smallest and number > 1 else ""
    yield Phrase(f" ({score_text(found.score_without)}{smallest}). ")


def _label(case: Case) -> Iterator[Phrase]:
    if case.known is not None:
        yield Phrase(f"The model was trained with its label, “{shown(case.known)}”: its score is no discovery. ")


def _names(accounts: Sequence[str]) -> Iterator[Phrase]:
    for place, account in enumerate(accounts):
        if place:
            yield Phrase(" and " if place == len(accounts) - 1 else ", ")
        yield Phrase(short_id(account, 6), "id")
