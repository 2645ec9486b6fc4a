"""What is in a store, in numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gtea.store.info import describe, histogram
from gtea.store.store import Store


def test_counts_spans_and_spreads(store_of: Callable[..., Store]) -> None:
    store = store_of([("a", "b", 1, 2.0), ("b", "a", 5, 1.0), ("a", "c", 9, 3.0)])
    found = describe(store)
    assert (found["nodes"], found["edges"], found["events"]) == (3, 2, 3)
    assert (found["time"]["first"], found["time"]["last"], found["time"]["first_date"]) == (1, 9, None)
    assert (found["degree"]["p100"], found["history_length"]["mean"]) == (2, 1.5)
    assert found["features"] == ["amount"]
    assert found["digest"] == store.digest
    assert found["bytes"] > 0


def test_an_empty_store_has_no_spread(store_of: Callable[..., Store]) -> None:
    found = describe(store_of([]))
    assert (found["events"], found["degree"], found["time"]["last"]) == (0, {}, None)


def test_bins_double() -> None:
    assert histogram(np.array([0, 1, 1, 2, 3, 9])) == [("0", 1), ("1", 2), ("2-3", 2), ("4-7", 0), ("8-15", 1)]
    assert histogram(np.array([], dtype=np.int64)) == []
