"""Rhythm statistics of an account without some of its slots, in many alternatives; see ``gtea.features.removals``."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gtea.features.account_events import IN, LOOP, OUT, AccountEvents
from gtea.features.rhythm_statistics import (
    DAY,
    NUM_SIDE_COLUMNS,
    NUM_SIDES,
    KnownTerms,
    fill_side,
    fill_summary,
    passed_on,
    rhythm_statistic_names,
)
from gtea.runtime.jit import jit
from gtea.store.time_units import stored_per_second


class RhythmWithout:
    """Computes rows of ``gtea.features.rhythm_statistics`` for one account."""

    def __init__(self, events: AccountEvents, unit: str) -> None:
        self._events, self._per_second = events, stored_per_second(unit)
        self._day = 0 if unit == "step" else DAY * self._per_second
        num_features = events.features.shape[1]
        width = len(rhythm_statistic_names([str(k) for k in range(num_features)]))
        self._known = _terms(events, self._per_second, self._day)
        self._whole = np.zeros(width)
        self._whole = self.rows(np.ones((1, len(events.slot_partner)), dtype=np.bool_))[0]

    def rows(self, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """One row per alternative.

        Args:
            kept: Which slots are left in each, [num_alternatives, num_slots].
        """
        return _rows(self._events, self._per_second, self._day, kept, self._known, self._whole)


@jit
def _terms(events: AccountEvents, per_second: int, day: int) -> KnownTerms:
    """The terms of the summary of the account as it is."""
    size, num_features = len(events.time), events.features.shape[1]
    received, latest = np.full(size, -1, dtype=np.int64), -1
    hold, of_day = np.zeros((size, 1 + num_features)), np.zeros((size, 2))
    for event in events.order:
        if events.side[event] & OUT and latest >= 0:
            received[event] = latest
            hold[event, 0] = math.log1p((events.time[event] - events.time[latest]) / per_second)
            for k in range(num_features):
                hold[event, 1 + k] = passed_on(events.features[event, k], events.features[latest, k])
        if events.side[event] & IN:
            latest = event
        if day > 0:
            angle = 2 * math.pi * ((events.time[event] % day) / day)
            of_day[event, 0], of_day[event, 1] = math.cos(angle), math.sin(angle)
    return KnownTerms(received, hold, of_day)


@jit
def _rows(
    events: AccountEvents,
    per_second: int,
    day: int,
    kept: NDArray[np.bool_],
    known: KnownTerms,
    whole: NDArray[np.float64],
) -> NDArray[np.float64]:
    width, unit = NUM_SIDE_COLUMNS + events.features.shape[1], DAY if day > 0 else 1
    rows = np.zeros((len(kept), len(whole)))
    times = np.empty((NUM_SIDES, len(events.time)), dtype=np.int64)
    codes = np.empty((NUM_SIDES, len(events.time)), dtype=np.int64)
    for i in range(len(kept)):
        counts, lost = _left(events, kept[i], times, codes)
        if counts[LOOP - 1] == 0:
            continue
        for side in (OUT, IN, LOOP):
            at, chosen = side - 1, counts[side - 1]
            if not lost & side and lost:
                rows[i, at * width : side * width] = whole[at * width : side * width]
            elif chosen > 0:
                row = rows[i, at * width : side * width]
                fill_side(events.features, times[at, :chosen], codes[at, :chosen], per_second, unit, row)
        both, chosen = LOOP - 1, counts[LOOP - 1]
        summary = rows[i, NUM_SIDES * width :]
        fill_summary(events.features, times[both, :chosen], codes[both, :chosen], per_second, day, known, summary)
    return rows


@jit
def _left(
    events: AccountEvents, kept: NDArray[np.bool_], times: NDArray[np.int64], codes: NDArray[np.int64]
) -> tuple[tuple[int, int, int], int]:
    """Fill the times and codes of the events that are left, by side; count them, and tell which sides lost any."""
    sent, received, both, lost = 0, 0, 0, 0
    for i in range(len(events.order)):
        event = events.order[i]
        time, side = events.time[event], events.side[event]
        if not kept[events.slot[i]]:
            lost |= side
            continue
        code = 4 * event + side
        # Written in any case, and kept if it counts: cheaper than a branch that nobody can foresee.
        times[0, sent], codes[0, sent] = time, code
        times[1, received], codes[1, received] = time, code
        times[2, both], codes[2, both] = time, code
        sent += side & OUT
        received += side >> 1
        both += 1
    return (sent, received, both), lost
