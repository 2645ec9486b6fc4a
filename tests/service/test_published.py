from __future__ import annotations

import numpy as np

from gtea.live.event_rows import EventRow
from gtea.live.live_scorer import Changes
from gtea.live.live_standing import LiveStanding
from gtea.service.event_log import Accepted
from gtea.service.published import ChangedScore, EndScore, Published, Receipt
from gtea.store.strings import table_from


def changes(*rows: tuple[str, float, float, bool]) -> Changes:
    accounts, old, new, alert = zip(*rows, strict=True)
    return Changes(list(accounts), np.array(old), np.array(new), np.array(alert), 1, 0, 0, 0)


def test_updates_in_turn_are_one_change() -> None:
    found = ChangedScore.joined(
        [changes(("a", 0.1, 0.2, False), ("b", np.nan, 0.5, False)), changes(("a", 0.2, 0.9, True))]
    )
    assert found == [ChangedScore("a", 0.1, 0.9, True), ChangedScore("b", None, 0.5, False)]


def test_a_receipt_has_both_ends_of_each_event_once() -> None:
    accounts = table_from([["a", "b", "c"]])

    def standing(scores: list[float], marked: int = -1) -> LiveStanding:
        return LiveStanding(
            accounts, accounts.find, np.array(scores), np.arange(3) == marked, np.arange(3), 0.5, int(marked >= 0)
        )

    before, after = standing([0.1, 0.2, np.nan]), standing([0.1, 0.7, 0.3], marked=0)
    rows = [EventRow("b", "c", 0, [], []), EventRow("c", "b", 0, [], []), EventRow("a", "unknown", 0, [], [])]
    receipt = Receipt.of(Accepted(4, 3, False), rows, before, Published(6, after), 9)
    assert receipt.scores == (
        EndScore("b", 0.2, 0.7, True, False),
        EndScore("c", None, 0.3, False, False),
        EndScore("a", 0.1, 0.1, False, True),
        EndScore("unknown", None, None, False, False),
    )
    assert (receipt.number, receipt.together) == (6, 9)
