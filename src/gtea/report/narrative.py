"""A draft of what an investigator would write: who, what, when, how much, why suspected. Plain text."""

from __future__ import annotations

from gtea.report.case import TRACE, Case, Pair
from gtea.report.facts import pair_facts
from gtea.report.figures import amount_text, counted, effect_text, score_text
from gtea.report.next_steps import next_steps
from gtea.report.replay import replay_command
from gtea.report.shown import shown
from gtea.report.summary import summary_text

_NAMED = 5


def narrative(case: Case) -> str:
    """The draft. Every figure in it is on the page, too."""
    parts = [
        ("WHO", _who(case)),
        ("WHAT", _what(case)),
        ("WHEN", _when(case)),
        ("HOW MUCH", _how_much(case)),
        ("WHY SUSPECTED", _why(case)),
        ("LOOK NEXT AT", _next(case)),
        ("HOW TO CHECK", _check(case)),
    ]
    head = "DRAFT, made from figures alone. Check every statement before you use it.\n"
    return head + "".join(f"\n{title}\n{text}\n" for title, text in parts if text)


def _who(case: Case) -> str:
    known = f" It was labelled {shown(case.known)!r} when the model was trained." if case.known is not None else ""
    return f"Account {shown(case.explanation.account)} in {case.common.store_name}.{known}"


def _what(case: Case) -> str:
    dealings = case.dealings
    payers = sum(bool((~pair.sent).any()) for pair in case.pairs)
    payees = sum(bool(pair.sent.any()) for pair in case.pairs)
    received, sent = int((~dealings.sent).sum()), int(dealings.sent.sum())
    return (
        f"It received {counted(received, 'payment')} from {counted(payers, 'account')} and made "
        f"{counted(sent, 'payment')} to {counted(payees, 'account')}."
    )


def _when(case: Case) -> str:
    times = case.dealings.page_time
    first, last = (case.clock.instant(int(time)) for time in (times.min(), times.max()))
    return f"From {first} to {last}; most of what the score rests on happened {case.clock.between(*case.focus)}."


def _how_much(case: Case) -> str:
    if not case.has_amounts:
        return "The data have no amounts."
    dealings = case.dealings
    received, sent = (float(dealings.amount[dealings.sent == side].sum()) for side in (False, True))
    return (
        f"Received {amount_text(received)} and sent {amount_text(sent)} in all "
        f"(column {shown(case.explanation.amount_column or '')})."
    )


def _why(case: Case) -> str:
    about = case.explanation
    probability = f"{score_text(about.score)} for {shown(about.label)!r}"
    lines = [f"The model gives it a probability of {probability}. {summary_text(case)}"]
    raising = sorted(case.raising, key=lambda pair: -pair.about.effect)[:_NAMED]
    raising = [pair for pair in raising if pair.about.effect >= TRACE]
    if raising:
        lines.append("Each counterparty by itself, without which the score would be lower, the largest effect first:")
        lines += [_line(case, pair) for pair in raising]
    if about.own_statistics:
        lines.append("Its own numbers:")
        lines += [f"- {shown(each.sentence)} ({effect_text(each.effect)})" for each in about.own_statistics]
    return "\n".join(lines)


def _line(case: Case, pair: Pair) -> str:
    return (
        f"- {shown(pair.about.account)}: {shown(pair_facts(case, pair))}; without it the score would be "
        f"{score_text(pair.about.score_without)} ({effect_text(pair.about.effect)} log-odds)"
    )


def _next(case: Case) -> str:
    return "\n".join(f"- {step.whole}: {step.words}" for step in next_steps(case, {}).steps)


def _check(case: Case) -> str:
    about = case.explanation
    return (
        f"{replay_command(case)}\n"
        f"Model sha256:{about.model_digest}, data sha256:{about.data_digest}{case.common.more_events}, "
        f"as of {about.as_of}, gtea {case.common.version}."
    )
