"""A case: an account, why it has its score, and what it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gtea.explain.explanation import Counterparty, Explanation, log_odds
from gtea.report.clock import Clock
from gtea.report.common_facts import CommonFacts
from gtea.report.dealings import Dealings, dealings_of
from gtea.report.focus import shortest_window, widened, with_margin
from gtea.report.known_labels import KnownLabels
from gtea.report.rhythm import rhythm_text
from gtea.store.store import Store
from gtea.store.time_units import parse_instant

_SHORTEST_WINDOW = 6 * 3_600
_BOTH_WAYS = 0.1
"""A pair deals both ways if the lesser side is more than this share of all that passed."""

TRACE = 0.005
"""An effect that is shown as 0.00."""
_WINDOW_ROWS, _FILLED = 12, 0.3
"""Of so many strongest counterparties, so large a share has an event in the window that a page shows first."""
_NAMED, _MOST = 3, 0.9
"""So many counterparties are named at most: as few as make this part of the fall that so many make."""


@dataclass(frozen=True)
class Pair:
    """A counterparty, and all that passed between it and the account."""

    about: Counterparty
    node: int
    known: str | None
    rhythm: str
    time: NDArray[np.int64]
    """Page times, in order."""
    sent: NDArray[np.bool_]
    """Whether the account sent each event."""
    amount: NDArray[np.float64]
    bursts: tuple[tuple[int, int], ...]
    """The spans of ``about.bursts`` in page time."""

    @property
    def num_sent(self) -> int:
        """How many events the account sent."""
        return int(self.sent.sum())

    def passed(self, *, sent: bool) -> float:
        """What passed in one direction: the amount, or the number of events if there are no amounts."""
        side = self.sent == sent
        return float(np.abs(self.amount[side]).sum()) if self.amount.any() else float(side.sum())

    @property
    def pays(self) -> bool:
        """Whether it mostly pays the account."""
        return self.passed(sent=False) >= self.passed(sent=True)

    @property
    def both_ways(self) -> bool:
        """Whether the lesser direction is worth telling."""
        sides = sorted((self.passed(sent=False), self.passed(sent=True)))
        return sides[0] > _BOTH_WAYS * sum(sides)


@dataclass(frozen=True)
class Case:
    """Everything that a page tells. An account without events has no case: nothing is known of it."""

    common: CommonFacts
    explanation: Explanation
    dealings: Dealings
    pairs: tuple[Pair, ...]
    """The strongest first."""
    labels: KnownLabels
    known: str | None
    """The account's own label, if the model was trained with it."""
    rank: int
    """Its place among all accounts, from 1."""
    number: int
    """Its place in the report, from 1."""
    clock: Clock
    focus: tuple[int, int]
    """The shortest page time with most of what the score rests on."""

    @property
    def store(self) -> Store:
        """The store that the case is from."""
        return self.dealings.view.store

    @property
    def has_amounts(self) -> bool:
        """Whether events have amounts."""
        return self.explanation.amount_column is not None

    @property
    def whole(self) -> tuple[int, int]:
        """The page time that the strip of a page shows: from the first event to the last one, with some air."""
        times = self.dealings.page_time
        return with_margin(int(times.min()), int(times.max()), self._shortest)

    @property
    def window(self) -> tuple[int, int]:
        """The window that a page shows first: the focus with some air; all of time if most lanes would be empty."""
        first, last = widened(with_margin(*self.focus, self._shortest), self.whole)
        strongest = self.pairs[:_WINDOW_ROWS]
        if _FILLED * len(strongest) > sum(
            bool(((pair.time >= first) & (pair.time <= last)).any()) for pair in strongest
        ):
            return self.whole
        return max(first, self.whole[0]), min(last, self.whole[1])

    @property
    def _shortest(self) -> int:
        return 2 if self.clock.steps else _SHORTEST_WINDOW

    @property
    def counting(self) -> tuple[Pair, ...]:
        """The pairs that have a part in the score: those whose removal changes it by more than a trace."""
        return tuple(pair for pair in self.pairs if abs(pair.about.effect) >= TRACE)

    @property
    def raising(self) -> list[Pair]:
        """The pairs in the order in which the removal curve takes them away; behind them those that raise it less."""
        place = {account: number for number, account in enumerate(self.explanation.removed)}
        last = len(place)
        return sorted(self.pairs, key=lambda pair: (place.get(pair.about.account, last), pair.about.score_without))

    @property
    def named(self) -> list[Pair]:
        """Up to three that raise the score most, together: as few as make most of the fall that three make.

        Two that do the same hide each other: without the first one alone, the score need not fall at all. Not all
        counterparties are named, unless there is only one: without all of them, there is nothing to score.
        """
        about = self.explanation
        curve = about.removal_curve[: min(_NAMED, max(1, len(self.pairs) - 1))]
        falls = [log_odds(about.score) - log_odds(after) for after in curve]
        largest = max(falls, default=0.0)
        if largest < TRACE:
            return []
        return self.raising[: 1 + next(place for place, fall in enumerate(falls) if fall >= _MOST * largest)]


def case_of(
    common: CommonFacts, labels: KnownLabels, explanation: Explanation, store: Store, rank: int, number: int = 1
) -> Case:
    """Read what an explained account did."""
    view = store.as_of(explanation.cut)
    node = store.node(explanation.account)
    dealings = dealings_of(view, node, explanation.amount_column)
    clock = Clock(store.unit)
    places = {account: place for place, account in enumerate(store.accounts.take(dealings.partners).to_pylist())}
    chosen = [(about, places[about.account]) for about in explanation.counterparties]
    known = labels.of([int(dealings.partners[place]) for _, place in chosen])
    times = dealings.page_time
    pairs = tuple(
        _pair(about, place, label, dealings, times, clock) for (about, place), label in zip(chosen, known, strict=True)
    )
    return Case(
        common,
        explanation,
        dealings,
        pairs,
        labels,
        labels.of([node])[0],
        rank,
        number,
        clock,
        _focus(pairs, clock),
    )


def _pair(
    about: Counterparty, place: int, known: str | None, dealings: Dealings, times: NDArray[np.int64], clock: Clock
) -> Pair:
    events = dealings.of(place)
    return Pair(
        about,
        int(dealings.partners[place]),
        known,
        rhythm_text(times[events], clock),
        times[events],
        dealings.sent[events],
        dealings.amount[events],
        tuple(_span(burst.first, burst.last, dealings.view.store) for burst in about.bursts),
    )


def _span(first: str, last: str, store: Store) -> tuple[int, int]:
    stored = np.array([parse_instant(text, store.unit, store.manifest.schema["time_unit"]) for text in (first, last)])
    start, end = Clock(store.unit).page_time(stored)
    return int(start), int(end)


def _focus(pairs: Sequence[Pair], clock: Clock) -> tuple[int, int]:
    """Each pair's effect is shared among its events."""
    times = np.concatenate([pair.time for pair in pairs])
    weights = np.concatenate([np.full(len(pair.time), abs(pair.about.effect) / len(pair.time)) for pair in pairs])
    return shortest_window(times, weights)
