"""What the writer hands to readers: how all accounts stand, what has changed, and the answer to a request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gtea.live.event_rows import EventRow
from gtea.live.live_scorer import Changes
from gtea.live.live_standing import LiveStanding
from gtea.service.event_log import Accepted


@dataclass(frozen=True)
class Published:
    """What readers see until it is replaced as a whole."""

    number: int
    """The number of the last event that it has."""
    standing: LiveStanding


@dataclass(frozen=True)
class ChangedScore:
    """An account whose score has changed."""

    account: str
    old: float | None
    """None for a new account."""
    new: float
    alert: bool

    @staticmethod
    def joined(changes: Iterable[Changes]) -> list[ChangedScore]:
        """The changes of several updates in turn as those of one."""
        found: dict[str, ChangedScore] = {}
        for each in changes:
            columns = each.accounts, each.old.tolist(), each.new.tolist(), each.alert.tolist()
            for account, old, new, alert in zip(*columns, strict=True):
                earlier = found[account].old if account in found else old if old == old else None
                found[account] = ChangedScore(account, earlier, new, alert)
        return list(found.values())


@dataclass(frozen=True)
class EndScore:
    """The score of an end of an event, before and after it was added."""

    account: str
    old: float | None
    """None for an account that had no event."""
    new: float | None
    """None for an account that has none: its only event was with itself, and the store leaves such out."""
    alert: bool
    marked: bool
    """Whether ``new`` is from before: the account has too many events to be computed in an update. Read it."""


@dataclass(frozen=True)
class Receipt:
    """The answer to a request whose events are on disk."""

    accepted: Accepted
    scores: tuple[EndScore, ...]
    """Of both ends of its events, each account once."""
    together: int
    """How many events were added in the same update, those of other requests included."""
    number: int
    """The number of the last event that the scores have."""

    @staticmethod
    def of(
        accepted: Accepted, rows: Sequence[EventRow], before: LiveStanding, now: Published, together: int
    ) -> Receipt:
        """The answer about events that were added between two standings."""
        ends = dict.fromkeys(end for row in rows for end in row[:2])
        after = now.standing
        scores = tuple(
            EndScore(
                account,
                _score(before, before.find(account)),
                _score(after, node),
                node >= 0 and after.is_alert(node),
                node >= 0 and bool(after.marked[node]),
            )
            for account, node in ((account, after.find(account)) for account in ends)
        )
        return Receipt(accepted, scores, together, now.number)


def _score(standing: LiveStanding, node: int) -> float | None:
    return None if node < 0 or np.isnan(standing.scores[node]) else float(standing.scores[node])
