"""A case in a few sentences, each from exact numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from gtea.explain.explanation import log_odds
from gtea.report.case import Case
from gtea.report.figures import counted, listed, ordinal, score_text
from gtea.report.next_steps import num_known
from gtea.report.shown import short_id, shown

_NAMED = 6
_COUNTS = {2: "Two", 3: "Three"}
_HARDLY = 0.5
"""A fall of the log-odds by less says that the score comes from elsewhere."""


class Phrase(NamedTuple):
    """Some words of a sentence."""

    text: str
    style: Literal["plain", "strong", "id"] = "plain"


def summary(case: Case) -> list[Phrase]:
    """The paragraph at the head of a page."""
    return [part for sentence in (_rank, _known, _rests_on, _when, _what_if, _label) for part in sentence(case)]


def summary_text(case: Case) -> str:
    """The same as plain text."""
    return "".join(part.text for part in summary(case)).strip()


def one_line(case: Case) -> str:
    """The reason in one line, for a list of accounts."""
    strongest = case.named
    if not strongest:
        own = case.explanation.own_statistics
        return (own[0].sentence if own else "no counterparty raises the score") + _known_in_short(case)
    names = listed([short_id(pair.about.account) for pair in strongest])
    verb = "raises" if len(strongest) == 1 else "together raise"
    return f"{names} {verb} it most, {case.clock.between(*case.focus)}{_known_in_short(case)}"


def _known_in_short(case: Case) -> str:
    number = num_known(case)
    label = shown(case.explanation.label, 40)
    return f"; {counted(number, 'counterparty', 'counterparties')} known as “{label}”" if number else ""


def _rank(case: Case) -> Iterator[Phrase]:
    yield Phrase("Ranks ")
    yield Phrase(f"{ordinal(case.rank)} of {case.common.num_accounts:,}", "strong")
    threshold = case.explanation.threshold
    below = threshold is not None and not case.explanation.alert
    yield Phrase(f" accounts: no alert; alerts begin at {score_text(threshold or 0)}. " if below else " accounts. ")


def _known(case: Case) -> Iterator[Phrase]:
    number, total = num_known(case), len(case.pairs)
    if not number:
        return
    if number == total:
        who = "Its only counterparty" if total == 1 else f"All of its {total:,} counterparties"
    else:
        who = f"{number:,} of its {total:,} counterparties"
    yield Phrase(who, "strong")
    verb = "is" if number == 1 else "are"
    yield Phrase(f" {verb} known as “{shown(case.explanation.label, 40)}”. ")


def _rests_on(case: Case) -> Iterator[Phrase]:
    named, number = case.named, len(case.pairs)
    if not named:
        found = case.explanation.what_if
        several = found is not None and not found.alert and len(found.accounts) < number
        yield Phrase("It rests on no " + ("three of them. " if several else "counterparty: look at its own numbers. "))
        return
    if number == 1:
        yield Phrase("Its only counterparty is ")
        yield from _names([named[0].about.account])
        yield Phrase(". ")
        return
    if len(named) == 1:
        yield Phrase(f"One of its {number:,} counterparties raises it most: without ")
    else:
        yield Phrase(f"{_COUNTS[len(named)]} of its {number:,} counterparties together raise it most: without ")
    yield from _names([pair.about.account for pair in named])
    yield Phrase(", it would be ")
    after = case.explanation.removal_curve[len(named) - 1]
    yield Phrase(score_text(after), "strong")
    hardly = log_odds(case.explanation.score) - log_odds(after) < _HARDLY
    if _is_enough(case):
        yield Phrase(f", and no alert{_smallest(case)}")
    yield Phrase(". It hardly rests on single counterparties: look at its own numbers. " if hardly else ". ")


def _when(case: Case) -> Iterator[Phrase]:
    yield Phrase("Most of what counts happened ")
    yield Phrase(case.clock.between(*case.focus), "strong")
    yield Phrase(". ")


def _what_if(case: Case) -> Iterator[Phrase]:
    found = case.explanation.what_if
    if found is None or _is_enough(case) or (len(case.pairs) == 1 and not found.alert):
        return
    if found.alert or not found.accounts:
        yield Phrase("It would be an alert whichever counterparties are left out: look at its own numbers. ")
        return
    number = len(found.accounts)
    if number == len(case.pairs):
        # What is left has a score, too, but it says nothing about this account.
        yield Phrase(
            "Only without all of its counterparties, with no event left, would it be no alert. "
            if found.proven_smallest
            else "No set of counterparties, short of all, was found without which it would be no alert. "
        )
        return
    yield Phrase(
        "It would be no alert without "
        + ("" if number <= _NAMED else counted(number, "counterparty", "counterparties"))
    )
    if number <= _NAMED:
        yield from _names(found.accounts)
    yield Phrase(f" ({score_text(found.score_without)}{_smallest(case)}). ")


def _is_enough(case: Case) -> bool:
    """Whether those who are named are the smallest set without whom it is no alert: then it is said once."""
    found = case.explanation.what_if
    named = {pair.about.account for pair in case.named}
    return found is not None and not found.alert and len(case.pairs) > 1 and set(found.accounts) == named


def _smallest(case: Case) -> str:
    found = case.explanation.what_if
    return "; no smaller set does it" if found and found.proven_smallest and len(found.accounts) > 1 else ""


def _label(case: Case) -> Iterator[Phrase]:
    if case.known is not None:
        yield Phrase(f"The model was trained with its label, “{shown(case.known)}”: its score is no discovery. ")


def _names(accounts: Sequence[str]) -> Iterator[Phrase]:
    for place, account in enumerate(accounts):
        if place:
            yield Phrase(" and " if place == len(accounts) - 1 else ", ")
        yield Phrase(short_id(account, 6), "id")
