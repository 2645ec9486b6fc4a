"""Negatives for link prediction: for each positive pair (u, i), another account that u has not dealt with.

It is drawn uniformly from the accounts that have received an event before the cut (the items of a bipartite store; in
others, every account that was ever paid) and that have no event with u before the cut, in either direction. The sampler
gets u and not i, and reads the view alone, so held-out positives can't influence it. The price: with n candidates, one
draw in n is the very pair that happens next.
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

_MAX_TRIES = 32
"""Rejections before an exact draw. With half of the candidates excluded, one draw in four billion needs it."""


class NegativeSampler:
    """Draws negatives in one view."""

    def __init__(self, view: View, seed: int = 0) -> None:
        self.view = view
        self.seed = seed
        self._graph = graph_of(view)
        self.candidates = np.flatnonzero(_receivers(self._graph))
        """The nodes that may be drawn, ascending."""

    def draw(
        self, sources: NDArray[np.integer[Any]], pairs: NDArray[np.integer[Any]], epoch: int = 0
    ) -> NDArray[np.int64]:
        """One negative per source: a pure function of the seed, the epoch, the pair's number and u's past events.

        Args:
            sources: The u of each positive.
            pairs: The number of each positive in the task.
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

    def has_negatives(self, sources: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Whether each source has at least one possible negative."""
        users = np.asarray(sources, dtype=np.int64)
        pairs = np.zeros(len(users), dtype=np.uint64)
        return _draw(self._graph, self.candidates, users, pairs, np.uint64(0)) >= 0


@jit
def _receivers(graph: Graph) -> NDArray[np.bool_]:
    """Whether each node receives an event before the cut."""
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
    """Rejection sampling, then an exact draw. Both are uniform over the same items, so their mixture is. -1 if none."""
    drawn = np.full(len(users), -1, dtype=np.int64)
    for i in range(len(users)):
        pair_state = fold(state, pairs[i])
        for attempt in range(_MAX_TRIES if len(candidates) > 0 else 0):
            item = candidates[below(fold(pair_state, np.uint64(attempt)), len(candidates))]
            if item != users[i] and not linked(graph, users[i], item):
                drawn[i] = item
                break
        if drawn[i] < 0:
            drawn[i] = _draw_exactly(graph, candidates, users[i], fold(pair_state, np.uint64(_MAX_TRIES)))
    return drawn


@jit
def _draw_exactly(graph: Graph, candidates: NDArray[np.int64], user: int, word: np.uint64) -> np.int64:
    """A uniform draw from the candidates that the user has not dealt with, or -1 if there are none."""
    start, stop = visible_slots(graph, user)
    taken = np.empty(stop - start + 1, dtype=np.int64)
    taken[0] = user
    taken[1:] = graph.slot_neighbour[start:stop]
    excluded = np.unique(taken)
    index = np.searchsorted(candidates, excluded)
    free = len(candidates)
    for i in range(len(excluded)):
        free -= index[i] < len(candidates) and candidates[index[i]] == excluded[i]
    if free == 0:
        return np.int64(-1)
    drawn = below(word, free)
    for i in range(len(excluded)):
        if index[i] < len(candidates) and candidates[index[i]] == excluded[i] and index[i] <= drawn:
            drawn += 1
    return np.int64(candidates[drawn])


@jit
def linked(graph: Graph, u: int, v: int) -> bool:
    """Whether two nodes have an event before the cut, in either direction."""
    # In an undirected store only one of the two orders exists.
    return _linked_from(graph, u, v) or _linked_from(graph, v, u)


@jit
def _linked_from(graph: Graph, a: int, b: int) -> bool:
    edge = edge_between(graph, a, b)
    return edge >= 0 and graph.edge_first_time[edge] < graph.cut
