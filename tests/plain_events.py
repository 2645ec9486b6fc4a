"""A view as a plain list of events, for naive versions of statistics; and a store with and without its future."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gtea.store.memory import store_in_memory
from gtea.store.store import Store
from gtea.store.view import View

CUT = 60
"""Where the past of ``past_and_whole`` ends."""


@dataclass(frozen=True)
class Event:
    """One event before the cut. Among events of one time, those of an account are ordered by ``edge_order``."""

    src: int
    dst: int
    time: int
    features: tuple[float, ...]
    edge_order: tuple[int, int]
    """When the edge had its first event, and its number."""

    def partner(self, node: int) -> int:
        """The other end."""
        return self.dst if self.src == node else self.src


def plain_events(view: View) -> list[Event]:
    """All events before the cut, edge by edge."""
    events = []
    for edge in range(view.store.num_edges):
        a, b = int(view.arrays.edge_a[edge]), int(view.arrays.edge_b[edge])
        history = view.history_of(edge, a)
        for time, sent, features in zip(history.time, history.sent, history.features, strict=True):
            src, dst = (a, b) if sent else (b, a)
            events.append(Event(src, dst, int(time), tuple(map(float, features)), (int(history.time[0]), edge)))
    return events


def past_and_whole(directed: bool) -> tuple[Store, Store, NDArray[np.int64]]:
    """A store of random events before ``CUT``, one with later events and accounts too, and the former's nodes in it."""
    rng = np.random.default_rng(1)
    src, dst, time = (rng.integers(0, high, 500) for high in (150, 150, 100))
    amount = rng.normal(size=500)

    def store_of(rows: NDArray[np.int64]) -> Store:
        senders, receivers = ([f"{i:03}" for i in end[rows]] for end in (src, dst))
        return store_in_memory(senders, receivers, time[rows], features={"amount": amount[rows]}, directed=directed)

    past, whole = store_of(np.flatnonzero(time < CUT)), store_of(np.arange(500))
    assert past.num_nodes < whole.num_nodes
    return past, whole, np.array([whole.node(past.account(i)) for i in range(past.num_nodes)])
