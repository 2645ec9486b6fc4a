"""An account without all its dealings with some counterparties, in many alternatives at once.

What the account's own events say is computed without copying them for each alternative, unlike in
``gtea.features.alternatives``, and by the same operations in the same order: every number is that of a store without
the events, to the last bit. Two things are saved:

- Running sums are taken up where the first slot that is gone begins: before it, nothing has changed.
- A side on which nothing is gone, sent or received, is that of the account as it is.

Sums are never corrected by subtraction. Rounding would differ, and the trees split where values differ at all.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gtea.features.account_events import AccountEvents, account_events
from gtea.features.rhythm_without import RhythmWithout
from gtea.features.statistics_without import StatisticsWithout
from gtea.store.view import View


class RemovableEvents:
    """The events of one account, and what is computed of them once for all alternatives."""

    def __init__(self, view: View, node: int) -> None:
        self.node = node
        self.events: AccountEvents = account_events(view, node)
        self.partners: NDArray[np.int64] = np.unique(view.neighbours(node).nodes).astype(np.int64)
        """The distinct counterparties."""
        self._unit = view.store.unit

    @cached_property
    def statistics(self) -> StatisticsWithout:
        """For account statistics."""
        return StatisticsWithout(self.events, self._unit)

    @cached_property
    def rhythm(self) -> RhythmWithout:
        """For rhythm statistics."""
        return RhythmWithout(self.events, self._unit)


class Removals:
    """Alternatives to an account, each without some counterparties."""

    def __init__(self, account: RemovableEvents, lost: NDArray[np.bool_]) -> None:
        """Describe them.

        Args:
            lost: Which counterparties are gone in each, [num_alternatives, num_partners].
        """
        self.account = account
        self.lost = np.ascontiguousarray(lost)
        self.kept = np.ascontiguousarray(~lost[:, account.events.slot_partner])
        """Which slots are left in each, [num_alternatives, num_slots]."""
        self.original = np.full(len(lost), account.node)

    @cached_property
    def statistics(self) -> NDArray[np.float64]:
        """Their account statistics, computed once for all who read them."""
        return self.account.statistics.rows(self.kept)

    @cached_property
    def rhythm(self) -> NDArray[np.float64]:
        """Their rhythm statistics."""
        return self.account.rhythm.rows(self.kept)
