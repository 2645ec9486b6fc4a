"""How all accounts score at one time, for readers: nothing that comes later changes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from gtea.store.strings import StringTable


@dataclass(frozen=True)
class LiveStanding:
    """The scores of all accounts, and which of them are not up to date."""

    accounts: StringTable
    lookup: Callable[[str], int]
    """The number of an account, which may be newer than this."""
    scores: NDArray[np.float64]
    """By number of account; NaN for accounts without an event."""
    marked: NDArray[np.bool_]
    """The accounts that events have reached since their score was computed."""
    order: NDArray[np.int64]
    """Accounts with equal scores are ranked by this."""
    threshold: float | None
    """The lowest score that is an alert; None if the model has none."""
    pending: int
    """How many accounts are marked."""

    def find(self, account: str) -> int:
        """The number of an account with an event, or -1."""
        node = self.lookup(account)
        return node if 0 <= node < len(self.scores) and not np.isnan(self.scores[node]) else -1

    def rank(self, node: int) -> int:
        """The place of an account among all with an event, from 1."""
        score, order = self.scores[node], self.order[: len(self.scores)]
        level = np.flatnonzero(self.scores == score)
        return 1 + int(np.count_nonzero(self.scores > score)) + int(np.count_nonzero(order[level] < order[node]))

    def ranks(self, nodes: Sequence[int]) -> list[int]:
        """The places of some accounts."""
        if not len(nodes):
            return []
        scores = self.scores[np.asarray(nodes)]
        higher = self.num_ranked - np.searchsorted(self._ascending, scores, side="right")
        ties = higher + 1 < self.num_ranked - np.searchsorted(self._ascending, scores)
        places = zip(nodes, higher.tolist(), ties.tolist(), strict=True)
        return [self.rank(node) if tie else 1 + above for node, above, tie in places]

    @cached_property
    def _ascending(self) -> NDArray[np.float64]:
        return np.sort(self.scores[~np.isnan(self.scores)])

    def is_alert(self, node: int) -> bool:
        """Whether the score of an account is an alert."""
        return self.threshold is not None and bool(self.scores[node] >= self.threshold)

    @cached_property
    def num_ranked(self) -> int:
        """The number of accounts with an event."""
        return int(np.count_nonzero(~np.isnan(self.scores)))

    @cached_property
    def num_alerts(self) -> int:
        """The number of accounts at or above the threshold."""
        return 0 if self.threshold is None else int(np.count_nonzero(self.scores >= self.threshold))

    def top(self, k: int) -> NDArray[np.int64]:
        """The k accounts with the highest scores, the highest first."""
        return self._best(np.flatnonzero(~np.isnan(self.scores)), k)

    def search(self, text: str, k: int) -> NDArray[np.int64]:
        """The k accounts with the highest scores among those whose id has this text in it, in any case."""
        found = pc.match_substring(self.accounts.to_arrow(), text, ignore_case=True)
        among = np.flatnonzero(np.asarray(found)[: len(self.scores)])
        return self._best(among[~np.isnan(self.scores[among])], k)

    def _best(self, among: NDArray[np.int64], k: int) -> NDArray[np.int64]:
        scores, k = self.scores[among], min(k, len(among))
        if k < 1:
            return among[:0]
        if k < len(among):
            least = np.partition(scores, len(scores) - k)[len(scores) - k]
            among = among[scores >= least]
        return among[np.lexsort((self.order[among], -self.scores[among]))][:k]
