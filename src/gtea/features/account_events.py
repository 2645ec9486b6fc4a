"""The events of one account, copied side by side for compiled code that reads them again and again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.store.view import View

OUT, IN, LOOP = 1, 2, 3
"""Bit flags: an event from an account to itself is sent and received."""


class AccountEvents(NamedTuple):
    """All events of an account before a cut. Arrays in the order of its slots, but for the last two."""

    cut: int
    slot_start: NDArray[np.int64]
    """Where the events of each slot start; one more at the end."""
    slot_partner: NDArray[np.int64]
    """The counterparty of each slot, as an index into the distinct ones in ascending order."""
    side: NDArray[np.int64]
    time: NDArray[np.int64]
    features: NDArray[np.float32]
    order: NDArray[np.int64]
    """The order in time. Events at the same time keep the order of the slots."""
    slot: NDArray[np.int64]
    """The slot of each event, in the order of time."""


def account_events(view: View, node: int) -> AccountEvents:
    """Copy the events of an account."""
    arrays = view.arrays
    (first,), (last,) = view.slot_ranges(np.array([node]))
    neighbour, edges = arrays.slot_neighbour[first:last], np.asarray(arrays.slot_edge[first:last])
    start, stop = view.event_ranges(edges)
    slot_start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(stop - start)])
    slot = np.repeat(np.arange(len(edges)), stop - start)
    rows = np.arange(slot_start[-1]) + (start - slot_start[:-1])[slot]
    is_sent = arrays.event_reverse[rows] == (arrays.edge_a[edges] != node)[slot]
    time, side = arrays.event_time[rows], np.where(is_sent, OUT, IN)
    side[(neighbour == node)[slot]] = LOOP
    order = np.argsort(time, kind="stable")
    partner = np.unique(neighbour, return_inverse=True)[1].astype(np.int64)
    features = np.ascontiguousarray(arrays.event_features[rows])
    made: list[NDArray[Any]] = [slot_start, partner, side, time, features, order, slot[order]]
    return AccountEvents(view.cut, *made)
