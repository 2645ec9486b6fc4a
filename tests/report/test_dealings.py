from __future__ import annotations

import pytest

from gtea.report.dealings import dealings_of
from gtea.store.memory import store_in_memory


@pytest.mark.parametrize("directed", [False, True])
def test_events_by_counterparty_as_the_account_sees_them(directed: bool) -> None:
    store = store_in_memory(
        ["b", "a", "c", "b", "b", "c"],
        ["a", "b", "a", "a", "c", "b"],
        [3, 5, 4, 1, 2, 9],
        features={"amount": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]},
        directed=directed,
    )
    found = dealings_of(store.as_of(9), store.node("a"), "amount")
    assert [store.account(int(node)) for node in found.partners] == ["b", "c"]
    b, c = found.of(0), found.of(1)
    assert found.time[b].tolist() == [1, 3, 5]
    assert found.sent[b].tolist() == [False, False, True]
    assert found.amount[b].tolist() == [8.0, 1.0, 2.0]
    assert found.time[c].tolist() == [4]
    early = dealings_of(store.as_of(4), store.node("a"), None)
    assert early.page_time.tolist() == [1, 3]
    assert early.amount.tolist() == [0.0, 0.0]
