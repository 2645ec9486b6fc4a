"""Pairs that have not happened, for link prediction: for each positive (u, i) one more item for u.

The item is drawn uniformly from the accounts that have received anything before the cut (the items of a bipartite
store, everybody who was ever paid in others) and with which u has had no event before the cut, in either direction.
The sampler is told u and not i, and sees the view and nothing else: held-out positives can't steer it. The price: once
in as many draws as there are items, a negative is the very pair that happens next.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError
from gtea.runtime.jit import jit
from gtea.runtime.rng import Purpose, below, fold, stream
from gtea.store.graph import Graph, edge_between, graph_of, visible_events, visible_slots
from gtea.store.view import View

# With half of the items taken, 32 tries fail once in four thousand million draws; then we count instead of trying.
_TRIES = 32


class NegativeSampler:
    """Draws negatives in one view."""

    def __init__(self, view: View, seed: int = 0) -> None:
        self.view = view
        self.seed = seed
        self._graph = graph_of(view)
        self.candidates = np.flatnonzero(_receivers(self._graph))
        """The numbers of the nodes that may be drawn, in order."""

    def draw(
        self, sources: NDArray[np.integer[Any]], pairs: NDArray[np.integer[Any]], epoch: int = 0
    ) -> NDArray[np.int64]:
        """One item for each source: a pure function of seed, epoch, the number of the pair, and u's past.

        Args:
            sources: The u of each positive.
            pairs: The number of each positive in the task's list.
        """
        state = stream(self.seed, Purpose.NEGATIVES, epoch)
        users, numbers = np.asarray(sources, dtype=np.int64), np.asarray(pairs, dtype=np.uint64)
        drawn = _draw(self._graph, self.candidates, users, numbers, state)
        if (drawn < 0).any():
            account = self.view.store.account(int(users[np.argmin(drawn)]))
            raise DataError(
                f"{account!r}: has dealt with all {len(self.candidates)} accounts that receive anything before the "
                "cut, and has no negative. Leave its pairs out."
            )
        return drawn

    def exist(self, sources: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Whether there is anything to draw for each source."""
        users = np.asarray(sources, dtype=np.int64)
        nothing = np.zeros(len(users), dtype=np.uint64)
        return _draw(self._graph, self.candidates, users, nothing, np.uint64(0)) >= 0


@jit
def _receivers(graph: Graph) -> NDArray[np.bool_]:
    """Whether each node receives anything before the cut."""
    received = np.zeros(len(graph.node_offset) - 1, dtype=np.bool_)
    for edge in range(len(graph.edge_a)):
        start, stop = visible_events(graph, edge)
        for event in range(start, stop):
            received[graph.edge_b[edge] if graph.event_reverse[event] == 0 else graph.edge_a[edge]] = True
    return received


@jit
def _draw(
    graph: Graph,
    candidates: NDArray[np.int64],
    users: NDArray[np.int64],
    pairs: NDArray[np.uint64],
    state: np.uint64,
) -> NDArray[np.int64]:
    """Try a few times, then count: both are uniform over the same items, so the mixture is. -1 if there is none."""
    drawn = np.full(len(users), -1, dtype=np.int64)
    for i in range(len(users)):
        own = fold(state, pairs[i])
        for attempt in range(_TRIES if len(candidates) > 0 else 0):
            item = candidates[below(fold(own, np.uint64(attempt)), len(candidates))]
            if item != users[i] and not linked(graph, users[i], item):
                drawn[i] = item
                break
        if drawn[i] < 0:
            drawn[i] = _draw_by_counting(graph, candidates, users[i], fold(own, np.uint64(_TRIES)))
    return drawn


@jit
def _draw_by_counting(graph: Graph, candidates: NDArray[np.int64], user: int, word: np.uint64) -> np.int64:
    """The n-th of the items that the user has not dealt with, or -1."""
    start, stop = visible_slots(graph, user)
    known = np.empty(stop - start + 1, dtype=np.int64)
    known[0] = user
    known[1:] = graph.slot_neighbour[start:stop]
    taken = np.unique(known)
    places = np.searchsorted(candidates, taken)
    free = len(candidates)
    for i in range(len(taken)):
        free -= places[i] < len(candidates) and candidates[places[i]] == taken[i]
    if free == 0:
        return np.int64(-1)
    place = below(word, free)
    for i in range(len(taken)):
        if places[i] < len(candidates) and candidates[places[i]] == taken[i] and places[i] <= place:
            place += 1
    return np.int64(candidates[place])


@jit
def linked(graph: Graph, u: int, v: int) -> bool:
    """Whether two nodes have an event before the cut, in either direction."""
    # In an undirected store one of the two orders is never found.
    return _linked_from(graph, u, v) or _linked_from(graph, v, u)


@jit
def _linked_from(graph: Graph, a: int, b: int) -> bool:
    edge = edge_between(graph, a, b)
    return edge >= 0 and graph.edge_first_time[edge] < graph.cut
