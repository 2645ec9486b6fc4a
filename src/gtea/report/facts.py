"""What an account received and sent, and when: the six facts of a page."""

from __future__ import annotations

from typing import NamedTuple

from gtea.report.case import Case, Pair
from gtea.report.figures import amount_text, counted, percent_text
from gtea.report.shown import shown


class Fact(NamedTuple):
    """A name, a figure, and what to add in small print."""

    name: str
    figure: str
    more: str = ""


def facts(case: Case) -> list[Fact]:
    """Received, sent, stays, counterparties, first and last event."""
    dealings = case.dealings
    sides = [int((dealings.sent == sent).sum()) for sent in (False, True)]
    partners = [sum(bool((pair.sent == sent).any()) for pair in case.pairs) for sent in (False, True)]
    details = [
        f"{counted(events, 'event')}, {counted(number, *word)}"
        for events, number, word in zip(sides, partners, (("payer",), ("payee",)), strict=True)
    ]
    found = []
    if case.has_amounts:
        received, sent = (float(dealings.amount[dealings.sent == side].sum()) for side in (False, True))
        unit = shown(case.explanation.amount_column or "", 30)
        told = [f"of {unit}, {detail}" for detail in details]
        found += [Fact("Received", amount_text(received), told[0]), Fact("Sent", amount_text(sent), told[1])]
        stays = percent_text((received - sent) / received) if received > 0 and 0 <= sent <= received else ""
        name = "Stays" if received >= sent else "More sent than received"
        found.append(Fact(name, amount_text(abs(received - sent)), f"{stays} of what came in" if stays else ""))
    else:
        found += [Fact("Received", f"{sides[0]:,}", details[0]), Fact("Sent", f"{sides[1]:,}", details[1])]
    found.append(Fact("Counterparties", f"{len(case.pairs):,}", f"{len(case.counting):,} with an effect"))
    times = dealings.page_time
    ends = [case.clock.day(int(time)) for time in (times.min(), times.max())]
    return [*found, Fact("First event", ends[0]), Fact("Last event", ends[1])]


def pair_facts(case: Case, pair: Pair) -> str:
    """A pair in one line."""
    words = [counted(len(pair.time), "event")]
    if case.has_amounts:
        words += [f"received {amount_text(pair.about.received)}"] * bool(len(pair.time) - pair.num_sent)
        words += [f"sent {amount_text(pair.about.sent)}"] * bool(pair.num_sent)
    else:
        words += [f"{len(pair.time) - pair.num_sent:,} received", f"{pair.num_sent:,} sent"]
    words.append(" to ".join(dict.fromkeys(case.clock.day(int(pair.time[place])) for place in (0, -1))))
    if pair.known is not None:
        words.append(f"known: {pair.known}")
    return ", ".join(words)
