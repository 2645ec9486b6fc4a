"""The page of a case."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from gtea.explain.scored import NUM_JOINT
from gtea.report.assets import page_data, render
from gtea.report.case import TRACE, Case, Pair
from gtea.report.effect_bar import draw_effect
from gtea.report.facts import facts, pair_facts
from gtea.report.figures import NOTHING, amount_text, counted, effect_text, percent_text, score_text
from gtea.report.flow_figure import MOST, Flow, FlowContact, FlowNode, draw_flow
from gtea.report.hours_figure import draw_hours, hour_counts, hours_note
from gtea.report.lanes import BINS, Bursts, Lane, draw_axis, draw_lane, draw_strip, lane_of, tallest
from gtea.report.merged_events import merged_events
from gtea.report.narrative import narrative
from gtea.report.next_steps import next_steps
from gtea.report.removal_figure import draw_removal, removal_note
from gtea.report.replay import replay_command
from gtea.report.shown import short_id, shown
from gtea.report.standing_figure import draw_standing
from gtea.report.summary import summary
from gtea.report.ties import shared_contacts, ties_between

_MOST_ROWS = 200
_LANE_WIDTH = 360.0
_ROOM = 860_000
"""Bytes for the evidence: a page stays under 1 MB whatever the ids and histories are."""
_ROWS_ROOM = 420_000
"""Those for rows with a lane. What comes after is listed without one."""
_ROW, _STICK, _EVENT, _LISTED = 1_000, 11, 12, 70
"""About how many bytes a row, a stick, an event in the data and a row of the list take beside their ids."""


@dataclass(frozen=True)
class Place:
    """Where a page stands in its report."""

    number: int
    of: int
    digits: int
    numbers: Mapping[int, int] = field(default_factory=dict)
    """The numbers of all pages, by the node that each is about."""

    def file(self, number: int) -> str:
        """The name of a page: by rank, because an id can be anything."""
        return f"{number:0{self.digits}}.html"


def render_case(case: Case, place: Place | None = None, exports: Sequence[str] = ()) -> str:
    """The page as text.

    Args:
        place: None for a page that stands alone.
        exports: Files beside the page that it links to.
    """
    rows, lanes, taken = _rows_that_fit(case)
    listed = _listed(case, case.pairs[len(rows) :], _ROOM - taken)
    about = case.explanation
    numbers = place.numbers if place else {}
    content = {
        "title": f"{short_id(about.account)} · {score_text(about.score)} · gtea case",
        "case": case,
        "about": about,
        "account": shown(about.account),
        "place": place,
        "as_of": case.clock.instant(int(case.clock.page_time(np.array([about.cut]))[0])),
        "score": score_text(about.score),
        "label": shown(about.label, 80),
        "opinions": _opinions(case),
        "summary": summary(case),
        "standing": draw_standing(
            np.array(case.common.score_counts), width=460, alerts_from=about.threshold, score=about.score
        ),
        "standing_note": _standing_note(case),
        "facts": facts(case),
        "next": next_steps(case, numbers),
        "own": [
            (shown(each.sentence), effect_text(each.effect))
            for each in about.own_statistics
            if abs(each.effect) >= TRACE
        ],
        "flow": draw_flow(_flow(case, len(rows))),
        "removal": _removal(case),
        "removal_note": removal_note(about),
        "hours": None if case.clock.steps else _hours(case),
        "rows": _evidence(case, rows, lanes),
        "strip": draw_strip(_whole_lane(case), case.window, case.whole),
        "axis": draw_axis(case.clock.ticks(*case.window), _LANE_WIDTH),
        "span": f" {NOTHING} ".join(dict.fromkeys(case.clock.day(time) for time in case.window)),
        "bin": case.clock.span(max((case.window[1] - case.window[0]) / BINS, 1)),
        "things": counted(len(rows), "counterparty", "counterparties"),
        "zero_weight": _zero_weight(case),
        "chosen_together": _chosen_together(case),
        "listed": listed,
        "unlisted": len(case.pairs) - len(rows) - len(listed),
        "draft": narrative(case),
        "replay": replay_command(case),
        "exports": exports,
        "version": case.common.version,
    }
    return render("case.html", content, _data(case, rows))


def _rows_that_fit(case: Case) -> tuple[list[Pair], list[Lane], int]:
    """The strongest pairs, as many as the page has room for, and the bytes that they take."""
    rows: list[Pair] = []
    lanes: list[Lane] = []
    taken = 0
    for pair in case.pairs[:_MOST_ROWS]:
        size = np.abs(pair.amount) if case.has_amounts else np.ones(len(pair.time))
        lane = lane_of(pair.time, pair.sent, size, case.window, case.common.num_read)
        sticks, events = int((lane.sums > 0).sum()), len(merged_events(pair)[0])
        # The whole id is in the page four times: for the pointer, the filter, the order and the script.
        needed = _ROW + _STICK * sticks + _EVENT * events + 4 * _length(shown(pair.about.account))
        if rows and taken + needed > _ROWS_ROOM:
            break
        taken += needed
        rows.append(pair)
        lanes.append(lane)
    return rows, lanes, taken


def _length(text: str) -> int:
    """The bytes of a text where it takes the most: in markup or in the data of the script."""
    return max(len(escape(text).encode("utf-8", "replace")), len(page_data({"": text}).encode()))


def _evidence(case: Case, rows: Sequence[Pair], lanes: Sequence[Lane]) -> list[dict[str, Any]]:
    full = tallest(lanes)
    largest = max((abs(pair.about.effect) for pair in rows), default=0.0)
    return [
        {
            "number": number,
            "short": short_id(pair.about.account),
            "whole": shown(pair.about.account),
            "known": None if pair.known is None else shown(pair.known, 40),
            "positive": pair.known is not None and pair.known == case.common.positive,
            "kind": "up" if pair.about.effect >= 0 else "down",
            "words": f"{shown(pair.about.account)} {pair.known or ''} {pair.rhythm}",
            "effect": draw_effect(pair.about.effect, largest),
            "size": f"{abs(pair.about.effect):.6g}",
            "without": score_text(pair.about.score_without),
            "without_key": f"{pair.about.score_without:.6g}",
            "weight": _weight(pair, 3),
            "moved": [_moved(case, pair, sent=sent) for sent in (False, True)],
            "rhythm": pair.rhythm,
            "lane": _lane(lane, full, pair, case.window),
        }
        for number, (pair, lane) in enumerate(zip(rows, lanes, strict=True), start=1)
    ]


def _moved(case: Case, pair: Pair, *, sent: bool) -> tuple[str, str]:
    """What passed in one direction, as shown and to sort by. An event without an amount is no silence: it is 0."""
    number = pair.num_sent if sent else len(pair.time) - pair.num_sent
    if not number:
        return NOTHING, "0"
    amount = pair.about.sent if sent else pair.about.received
    return (f"{number:,}", str(number)) if amount is None else (amount_text(amount), f"{amount:.6g}")


def _weight(pair: Pair, digits: int) -> str:
    """A model that is no network gives no attention."""
    return NOTHING if pair.about.weight is None else f"{pair.about.weight:.{digits}f}"


def _lane(lane: Lane, full: float, pair: Pair, window: tuple[int, int]) -> Markup:
    bursts = Bursts(pair.bursts, [burst.effect >= 0 for burst in pair.about.bursts])
    return draw_lane(lane, full, bursts, window)


def _whole_lane(case: Case) -> Lane:
    dealings = case.dealings
    order = np.argsort(dealings.time, kind="stable")
    size = np.abs(dealings.amount[order]) if case.has_amounts else np.ones(len(order))
    return lane_of(dealings.page_time[order], dealings.sent[order], size, case.whole, len(order), bins=250)


def _listed(case: Case, pairs: Sequence[Pair], room: int) -> list[tuple[str, ...]]:
    """The cells of the further counterparties, as many as there is room for."""
    found = []
    for pair in pairs:
        name = shown(pair.about.account)
        cells = (
            name,
            effect_text(pair.about.effect),
            _weight(pair, 4),
            f"{len(pair.time):,}",
            *(_moved(case, pair, sent=sent)[0] for sent in (False, True)),
            case.clock.day(int(pair.time[-1])),
        )
        room -= _LISTED + _length(name)
        if room < 0:
            break
        found.append(cells)
    return found


def _opinions(case: Case) -> str:
    opinions = case.explanation.opinions
    named = (("GTEA", opinions.network), ("trees", opinions.trees))
    given = [f"{name} {score_text(value)}" for name, value in named if value is not None]
    return " · ".join(given) if len(given) > 1 else ""


def _standing_note(case: Case) -> str:
    note = f"All {case.common.num_accounts:,} scores (bars by logarithm)."
    expected = case.common.expected
    if expected is None or not case.explanation.alert:
        return note
    right = expected.intervals[case.number - 1]
    return (
        f"{note} Of the accounts of the {expected.part} part that score as high or higher, "
        f"{percent_text(right.value)} are “{shown(case.explanation.label, 40)}” "
        f"(95 % interval {percent_text(right.low)} to {percent_text(right.high)})."
    )


def _removal(case: Case) -> Markup:
    about = case.explanation
    return draw_removal(about.score, about.removal_curve, about.random_curve, about.threshold)


def _zero_weight(case: Case) -> str:
    number = case.explanation.zero_weight.count
    those = "it" if number == 1 else "them"
    return (
        f"The model gives {counted(number, 'counterparty', 'counterparties')} an attention of exactly zero: along that "
        f"path, removing {those} changes nothing."
    )


def _chosen_together(case: Case) -> str:
    """Why the first rows of an alert may not be those with the largest effects."""
    first = case.raising[:NUM_JOINT]
    if not case.explanation.alert or len(case.pairs) <= len(first) or list(case.pairs[: len(first)]) != first:
        return ""
    return (
        f" The first {len(first)} are those without whom, taken together, the score falls furthest; the others "
        "follow by the size of their own effect."
    )


def _hours(case: Case) -> tuple[Markup, str]:
    counts = hour_counts(case.dealings.page_time)
    return draw_hours(counts), hours_note(counts)


def _flow(case: Case, num_rows: int) -> Flow:
    """The strongest of each side are drawn; ties and contacts are searched among them only."""
    total = sum(pair.about.weight or 0.0 for pair in case.pairs)
    effects = sum(abs(pair.about.effect) for pair in case.pairs) or 1.0

    def share(pair: Pair) -> float:
        # Without attention, a ribbon is as wide as its share of all effects.
        return (pair.about.weight or 0.0) / total if total else abs(pair.about.effect) / effects

    sides: tuple[list[int], list[int]] = ([], [])
    others, other_width = [0, 0], [0.0, 0.0]
    for place, pair in enumerate(case.pairs):
        side = 0 if pair.pays else 1
        if len(sides[side]) < MOST and place < num_rows:
            sides[side].append(place)
        else:
            others[side] += 1
            other_width[side] += share(pair)
    chosen = sorted(sides[0] + sides[1])
    pairs = [case.pairs[place] for place in chosen]
    view = case.dealings.view
    ties = ties_between(view, [pair.node for pair in pairs])
    return Flow(
        short_id(case.explanation.account),
        [
            FlowNode(
                place,
                short_id(pair.about.account, 6),
                pair.about.effect,
                share(pair),
                pair.passed(sent=True) + pair.passed(sent=False),
                pair.pays,
                pair.both_ways,
                None if pair.known is None else shown(pair.known, 40),
            )
            for place, pair in zip(chosen, pairs, strict=True)
        ],
        [(chosen[a], chosen[b]) for a, b in ties],
        [contact for side in (0, 1) for contact in _contacts(case, sides[side], pays=side == 0)],
        (others[0], others[1]),
        (other_width[0], other_width[1]),
    )


def _contacts(case: Case, places: Sequence[int], *, pays: bool) -> list[FlowContact]:
    inside = {case.dealings.node, *case.dealings.partners.tolist()}
    found = shared_contacts(case.dealings.view, [case.pairs[place].node for place in places], inside)
    labels = case.labels.of([contact.node for contact in found])
    return [
        FlowContact(
            short_id(case.store.account(contact.node), 6),
            None if label is None else shown(label, 20),
            pays,
            tuple(places[each] for each in contact.places),
        )
        for contact, label in zip(found, labels, strict=True)
    ]


def _data(case: Case, rows: Sequence[Pair]) -> dict[str, Any]:
    """What the script needs. Histories are flat lists: gap, amount, and sent + 2 * (events merged - 1)."""
    first, last = case.whole
    return {
        "kind": "case",
        "thing": "counterparty",
        "things": "counterparties",
        "steps": case.clock.steps,
        "amounts": case.has_amounts,
        "reads": case.common.num_read,
        "bins": BINS,
        "first": first,
        "last": last,
        "focus": list(case.window),
        "pairs": [_pair_data(case, pair, first) for pair in rows],
    }


def _pair_data(case: Case, pair: Pair, first: int) -> dict[str, Any]:
    times, amounts, codes = merged_events(pair)
    instants = [first, *times.tolist()]
    gaps = [later - earlier for earlier, later in itertools.pairwise(instants)]
    events = [
        value
        for gap, amount, code in zip(gaps, amounts.tolist(), codes.tolist(), strict=True)
        for value in (gap, float(f"{amount:.6g}") if amount % 1 else int(amount), code)
    ]
    return {
        "id": shown(pair.about.account),
        "short": short_id(pair.about.account),
        "facts": shown(pair_facts(case, pair)),
        "without": score_text(pair.about.score_without),
        "num_events": len(pair.time),
        "bursts": [
            [burst.num_events, *span, score_text(burst.score_without)]
            for burst, span in zip(pair.about.bursts, pair.bursts, strict=True)
        ],
        "events": events,
    }
