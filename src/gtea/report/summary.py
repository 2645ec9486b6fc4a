"""A case in a few sentences, each from exact numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from gtea.report.case import TRACE, Case
from gtea.report.figures import counted, listed, ordinal, score_text
from gtea.report.shown import short_id, shown

_STRONGEST = 3
_NAMED = 6


class Part(NamedTuple):
    """Some words of a sentence."""

    text: str
    style: Literal["plain", "strong", "id"] = "plain"


def summary(case: Case) -> list[Part]:
    """The paragraph at the head of a page."""
    return [part for sentence in (_rank, _rests_on, _when, _what_if, _label) for part in sentence(case)]


def summary_text(case: Case) -> str:
    """The same as plain text."""
    return "".join(part.text for part in summary(case)).strip()


def one_line(case: Case) -> str:
    """The reason in one line, for a list of accounts."""
    if not case.explanation.active:
        return "no event yet: the score says nothing about it"
    strongest = [pair for pair in case.raising if pair.about.effect >= TRACE][:_STRONGEST]
    if not strongest:
        own = case.explanation.own_statistics
        return own[0].sentence if own else "no counterparty raises the score"
    names = listed([short_id(pair.about.account) for pair in strongest])
    return f"{names} raise it most, {case.clock.between(*case.focus)}"


def _rank(case: Case) -> Iterator[Part]:
    yield Part("Ranks ")
    yield Part(f"{ordinal(case.rank)} of {case.subject.num_accounts:,}", "strong")
    yield Part(" accounts. ")


def _rests_on(case: Case) -> Iterator[Part]:
    if not case.pairs:
        yield Part(f"It has no event before {case.explanation.as_of}: the score says nothing about it. ")
        return
    curve = case.explanation.removal_curve[:_STRONGEST]
    number = f"{len(case.counting):,} of {counted(len(case.pairs), 'counterparty', 'counterparties')}"
    if not curve:
        yield Part(f"It rests on {number}. ")
        return
    yield Part(f"It rests on {number}: without ")
    yield Part({1: "the strongest, ", 2: "the two strongest, ", 3: "the three strongest, "}[len(curve)])
    yield from _names([pair.about.account for pair in case.raising[: len(curve)]])
    yield Part(", the score would be ")
    yield Part(score_text(curve[-1]), "strong")
    yield Part(". ")


def _when(case: Case) -> Iterator[Part]:
    if case.pairs:
        yield Part("Most of what carries it happened ")
        yield Part(case.clock.between(*case.focus), "strong")
        yield Part(". ")


def _what_if(case: Case) -> Iterator[Part]:
    found = case.explanation.what_if
    if found is None or not case.pairs:
        return
    if found.alert or not found.accounts:
        yield Part("It would be an alert whichever counterparties are left out: look at its own numbers. ")
        return
    number = len(found.accounts)
    yield Part("It would be no alert without " + ("" if number <= _NAMED else counted(number, "counterparty", "counterparties")))
    if number <= _NAMED:
        yield from _names(found.accounts)
    smallest = ", and no smaller set does it" if found.proven_smallest and number > 1 else ""
    yield Part(f" ({score_text(found.score_without)}{smallest}). ")


def _label(case: Case) -> Iterator[Part]:
    if case.known is not None:
        yield Part(f"The model was trained with its label, “{shown(case.known)}”: its score is no discovery. ")


def _names(accounts: Sequence[str]) -> Iterator[Part]:
    for place, account in enumerate(accounts):
        if place:
            yield Part(" and " if place == len(accounts) - 1 else ", ")
        yield Part(short_id(account, 6), "id")
