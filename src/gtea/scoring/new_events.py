"""Which events came since an earlier cut: how many an account has, with whom, since when, and who is near them.

New are the events from the earlier cut on, seen through a view. Late events, which are older than the earlier cut but
came after it, are found by counting: an account that has more events before that cut than it had then.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError
from gtea.store.graph import events_of, graph_of
from gtea.store.view import View


def count_events(view: View, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many events some accounts have before the cut. One from an account to itself counts once.

    Nothing is read of other accounts, and nothing is as long as all of them.
    """
    return events_of(graph_of(view), nodes)


class Dealing(NamedTuple):
    """The new events of an account with one other."""

    node: int
    events: int
    first: int
    last: int


@dataclass(frozen=True)
class EventsSince:
    """The events of a view from an earlier cut on."""

    view: View
    since: int

    @cached_property
    def _ranges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each edge, the range of its new events."""
        edges = np.arange(self.view.store.num_edges)
        _, first = self.view.store.as_of(min(self.since, self.view.cut)).event_ranges(edges)
        _, stop = self.view.event_ranges(edges)
        return first, stop

    def rows(self) -> NDArray[np.int64]:
        """The rows of the new events in the arrays of events."""
        first, stop = self._ranges
        lengths = stop - first
        begins = np.cumsum(lengths) - lengths
        return np.asarray(np.repeat(first - begins, lengths) + np.arange(int(lengths.sum())))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of new events of each account."""
        first, stop = self._ranges
        return _per_account(self.view, stop - first)

    @cached_property
    def num_counterparties(self) -> NDArray[np.int64]:
        """With how many others each account has new events. In a directed store, each of a pair counts once."""
        first, stop = self._ranges
        arrays, fresh = self.view.arrays, np.flatnonzero(stop > first)
        low = np.minimum(arrays.edge_a[fresh], arrays.edge_b[fresh]).astype(np.int64)
        high = np.maximum(arrays.edge_a[fresh], arrays.edge_b[fresh]).astype(np.int64)
        pairs = np.unique(low << 32 | high)
        low, high = pairs >> 32, pairs & 0xFFFFFFFF
        found = np.bincount(low, minlength=self.view.store.num_nodes)
        return found + np.bincount(high[high != low], minlength=self.view.store.num_nodes)

    def late(self, before: NDArray[np.int64], name: str) -> NDArray[np.int64]:
        """How many events older than the earlier cut each account has got since.

        Args:
            before: How many it had then.
            name: Of the table that says so.
        """
        store = self.view.store
        late = count_events(store.as_of(min(self.since, self.view.cut)), np.arange(store.num_nodes)) - before
        if (late < 0).any():
            account = store.account(int(np.argmin(late)))
            raise DataError(
                f"{name}: must come from an earlier state of this store (got {int((late < 0).sum()):,} accounts that "
                f"had more events then than now, such as {account!r:.80}). Give scores of this store."
            )
        return np.asarray(late)

    def near(self, has_new: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether an account has dealt with one that has new events."""
        start, stop = self.view.event_ranges(np.arange(self.view.store.num_edges))
        seen = stop > start
        a, b = self.view.arrays.edge_a[seen], self.view.arrays.edge_b[seen]
        found = np.zeros(self.view.store.num_nodes, dtype=bool)
        found[a[has_new[b]]] = True
        found[b[has_new[a]]] = True
        return found

    def dealings(self, node: int) -> list[Dealing]:
        """The new events of an account by counterparty: the most first, then in the store's order of accounts."""
        start, stop = (int(bound[0]) for bound in self.view.slot_ranges(np.array([node])))
        arrays, (firsts, stops) = self.view.arrays, self._ranges
        found: dict[int, Dealing] = {}
        for slot in range(start, stop):
            other, edge = int(arrays.slot_neighbour[slot]), int(arrays.slot_edge[slot])
            first, end = int(firsts[edge]), int(stops[edge])
            if end > first:
                this = Dealing(other, end - first, int(arrays.event_time[first]), int(arrays.event_time[end - 1]))
                met = found.get(other, this._replace(events=0))
                span = min(met.first, this.first), max(met.last, this.last)
                found[other] = Dealing(other, met.events + this.events, *span)
        return sorted(found.values(), key=lambda dealing: (-dealing.events, dealing.node))


def _per_account(view: View, per_edge: NDArray[np.int64]) -> NDArray[np.int64]:
    arrays, num_nodes = view.arrays, view.store.num_nodes
    fresh = np.flatnonzero(per_edge)
    a, b, counts = arrays.edge_a[fresh], arrays.edge_b[fresh], per_edge[fresh]
    other = a != b
    found = np.bincount(a, counts, num_nodes) + np.bincount(b[other], counts[other], num_nodes)
    return np.asarray(np.rint(found).astype(np.int64))
