"""Account statistics of an account without some of its slots, in many alternatives; see ``gtea.features.removals``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gtea.features.account_events import AccountEvents
from gtea.features.account_statistics import (
    COUNT,
    NUM_EVENT_STATISTICS,
    NUM_FEATURE_STATISTICS,
    PARTNERS,
    add_event,
    fill_net_flow,
    fill_times,
    finish,
)
from gtea.runtime.jit import jit
from gtea.store.time_units import stored_per_second

_OUT, _IN, _BOTH = range(3)
_NUM_MARKS = 1024
"""How many running sums are kept."""


class StatisticsWithout:
    """Computes rows of ``gtea.features.account_statistics`` for one account."""

    def __init__(self, events: AccountEvents, unit: str) -> None:
        self._events, self._per_second = events, stored_per_second(unit)
        self._every = 1 + len(events.slot_partner) // _NUM_MARKS
        self._marks = _running_sums(events, self._every)
        nothing = np.zeros((1, self._marks.shape[1] * self._marks.shape[2] + 2 * events.features.shape[1]))
        whole = np.ones((1, len(events.slot_partner)), dtype=np.bool_)
        self._whole = nothing
        self._whole = _rows(events, self._per_second, whole, self._every, self._marks, nothing[0])

    def rows(self, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """One row per alternative.

        Args:
            kept: Which slots are left in each, [num_alternatives, num_slots].
        """
        return _rows(self._events, self._per_second, kept, self._every, self._marks, self._whole[0])


@jit
def _running_sums(events: AccountEvents, every: int) -> NDArray[np.float64]:
    """Counts and sums of the three sides before each slot, or each so many slots."""
    num_slots = len(events.slot_partner)
    sums = np.zeros((3, NUM_EVENT_STATISTICS + NUM_FEATURE_STATISTICS * events.features.shape[1]))
    marks = np.zeros((num_slots // every + 1, *sums.shape))
    for slot in range(num_slots):
        if slot % every == 0:
            marks[slot // every] = sums
        _add_slot(events, slot, sums, 3)
    if num_slots % every == 0:
        marks[num_slots // every] = sums
    return marks


@jit
def _add_slot(events: AccountEvents, slot: int, sums: NDArray[np.float64], wanted: int) -> None:
    """Add the events of a slot to the wanted sides, bit flags, and to both together."""
    seen = 0
    for event in range(events.slot_start[slot], events.slot_start[slot + 1]):
        side, values = events.side[event], events.features[event]
        seen |= side
        if side & wanted & 1:
            add_event(sums[_OUT], values)
        if side & wanted & 2:
            add_event(sums[_IN], values)
        add_event(sums[_BOTH], values)
    sums[_OUT, PARTNERS] += seen & 1
    sums[_IN, PARTNERS] += seen >> 1


@jit
def _lost_sides(events: AccountEvents, kept: NDArray[np.bool_]) -> tuple[int, int]:
    """The first slot that is gone, and the sides of all events that are gone."""
    first, sides = len(kept), 0
    for slot in range(len(kept)):
        if not kept[slot]:
            first = min(first, slot)
            for event in range(events.slot_start[slot], events.slot_start[slot + 1]):
                sides |= events.side[event]
    return first, sides


@jit
def _rows(
    events: AccountEvents,
    per_second: int,
    kept: NDArray[np.bool_],
    every: int,
    marks: NDArray[np.float64],
    whole: NDArray[np.float64],
) -> NDArray[np.float64]:
    width, num_slots = marks.shape[2], kept.shape[1]
    rows = np.zeros((len(kept), len(whole)))
    times = np.empty((3, len(events.time)), dtype=np.int64)
    has_partner = np.zeros(num_slots, dtype=np.int64)
    for i in range(len(kept)):
        first, lost = _lost_sides(events, kept[i])
        by_side = rows[i, : 3 * width].reshape(3, width)
        unchanged = whole[: 3 * width].reshape(3, width)
        has_all = first == num_slots
        # Chosen before the loop: inside, the compiler makes a loop of it that takes four times as long.
        mark, wanted = first // every, 3 if has_all else lost
        by_side[:] = marks[mark]
        for slot in range(mark * every, num_slots):
            if kept[i, slot]:
                _add_slot(events, slot, by_side, wanted)
        by_side[_BOTH, PARTNERS] = _num_partners(events, kept[i], has_partner, i + 1)
        counts = _times_left(events, kept[i], times)
        for side in range(3):
            if side < _BOTH and not has_all and not lost & (side + 1):
                by_side[side] = unchanged[side]
            elif by_side[side, COUNT] > 0:
                fill_times(by_side[side], times[side, : counts[side]], events.cut, per_second)
                finish(by_side[side])
        fill_net_flow(by_side, rows[i, 3 * width :])
    return rows


@jit
def _num_partners(events: AccountEvents, kept: NDArray[np.bool_], has: NDArray[np.int64], mark: int) -> int:
    """The number of distinct counterparties of the slots that are left.

    Args:
        has: By counterparty; those that were counted get the mark.
    """
    count = 0
    for slot in range(len(kept)):
        if kept[slot] and has[events.slot_partner[slot]] != mark:
            has[events.slot_partner[slot]] = mark
            count += 1
    return count


@jit
def _times_left(events: AccountEvents, kept: NDArray[np.bool_], times: NDArray[np.int64]) -> tuple[int, int, int]:
    """Fill the times of the events that are left, by side and in ascending order. Returns how many there are."""
    sent, received, both = 0, 0, 0
    for i in range(len(events.order)):
        if kept[events.slot[i]]:
            event = events.order[i]
            time, side = events.time[event], events.side[event]
            # Written in any case, and kept if it counts: cheaper than a branch that nobody can foresee.
            times[_OUT, sent] = time
            times[_IN, received] = time
            times[_BOTH, both] = time
            sent += side & 1
            received += side >> 1
            both += 1
    return sent, received, both
