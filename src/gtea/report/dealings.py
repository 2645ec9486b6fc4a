"""The events of one account before a cut, grouped by counterparty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gtea.report.clock import Clock
from gtea.store.view import View


@dataclass(frozen=True)
class Dealings:
    """All events of an account: counterparty by counterparty, each one's in time order."""

    view: View
    node: int
    partners: NDArray[np.int64]
    """The node numbers of the counterparties."""
    offset: NDArray[np.int64]
    """The events of counterparty i are those from offset[i] to offset[i + 1]."""
    events: NDArray[np.int64]
    """Places in the arrays of the store."""
    sent: NDArray[np.bool_]
    """Whether the account sent each event."""
    amount: NDArray[np.float64]
    """Zeros if the store has no amount column."""

    @property
    def time(self) -> NDArray[np.int64]:
        """The stored time of each event."""
        return self.view.arrays.event_time[self.events]

    @property
    def page_time(self) -> NDArray[np.int64]:
        """The time of each event as a page tells it."""
        return Clock(self.view.store.unit).page_time(self.time)

    def of(self, place: int) -> slice:
        """The events of a counterparty."""
        return slice(int(self.offset[place]), int(self.offset[place + 1]))


def dealings_of(view: View, node: int, amount_column: str | None) -> Dealings:
    """Read all events of an account. In a directed store, both directions of a pair belong to one counterparty."""
    neighbours = view.neighbours(node)
    start, stop = view.event_ranges(neighbours.edges)
    length = stop - start
    edge = np.repeat(np.arange(len(length)), length)
    events = np.arange(len(edge)) + np.repeat(start - np.cumsum(length) + length, length)
    partner = neighbours.nodes[edge].astype(np.int64)
    order = np.lexsort((view.arrays.event_time[events], partner))
    events, edge, partner = events[order], neighbours.edges[edge[order]], partner[order]
    partners, first = np.unique(partner, return_index=True)
    forward = view.arrays.edge_a[edge] == node
    amount = np.zeros(len(events))
    if amount_column is not None:
        column = view.store.features.index(amount_column)
        amount = view.arrays.event_features[events, column].astype(np.float64)
    return Dealings(
        view,
        node,
        partners,
        np.append(first, len(events)),
        events,
        sent=forward == (view.arrays.event_reverse[events] == 0),
        amount=np.nan_to_num(amount, posinf=0.0, neginf=0.0),
    )
