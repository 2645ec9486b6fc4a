"""Views against a store made of plain Python lists."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gtea.errors import DataError, UsageError
from gtea.store.store import Store

Make = Callable[..., Store]
ROWS = [
    ("a", "b", 1, 1.0), ("b", "a", 4, 2.0), ("a", "b", 4, 3.0), ("a", "c", 2, 4.0),
    ("c", "b", 7, 5.0), ("d", "a", 0, 6.0), ("a", "b", 9, 7.0), ("e", "e", 3, 8.0),
]  # fmt: skip


@pytest.mark.parametrize("cut", range(-1, 12))
def test_views_agree_with_looking_at_every_row(store_of: Make, helpers: Any, cut: int) -> None:
    store = store_of(ROWS)
    view = store.as_of(cut)
    for u in "abcde":
        expected = helpers.naive_neighbours(ROWS, u, cut)
        found = view.neighbours(u)
        seen = {store.account(int(v)): int(t) for v, t in zip(found.nodes, found.first_time, strict=True)}
        assert seen == expected
        assert view.degree(u) == len(expected)
        assert list(found.first_time) == sorted(found.first_time)
        for v in "abcde":
            assert helpers.seen_history(store, u, v, cut) == helpers.naive_history(ROWS, u, v, cut)
        for v, edge in zip(found.nodes, found.edges, strict=True):
            history = view.history_of(int(edge), u)
            assert list(history.time) == [t for t, _, _ in helpers.naive_history(ROWS, u, store.account(int(v)), cut)]


def test_events_at_exactly_the_cut_are_hidden(store_of: Make) -> None:
    assert len(store_of(ROWS).as_of(4).history("a", "b")) == 1
    assert len(store_of(ROWS).as_of(5).history("a", "b")) == 3


def test_ranges_for_many_nodes_and_edges_at_once(store_of: Make) -> None:
    view = store_of(ROWS).as_of(4)
    start, stop = view.slot_ranges(np.arange(5))
    assert (stop - start).tolist() == [view.degree(node) for node in range(5)]
    start, stop = view.event_ranges(np.arange(view.store.num_edges))
    assert (stop - start).tolist() == [1, 1, 1, 0]


def test_without_a_moment_everything_is_seen(store_of: Make) -> None:
    store = store_of(ROWS)
    assert store.as_of().cut == 10
    assert len(store.as_of().history("b", "a")) == 4


def test_unknown_accounts_are_named(store_of: Make) -> None:
    with pytest.raises(DataError, match=r"'A': no such account in s\. Ids are compared exactly as written"):
        store_of(ROWS).as_of().neighbours("A")


def dated(store_of: Make, times: list[int], **options: Any) -> Store:
    return store_of([("a", "b", t, 1.0) for t in times], **{"time_unit": "s", **options})


def test_moments_may_be_dates_or_numbers(store_of: Make) -> None:
    seconds = dated(store_of, [86_400, 86_401])
    noon = dt.datetime(1970, 1, 2, tzinfo=dt.UTC)
    for moment in (
        86_400,
        np.int64(86_400),
        "1970-01-02",
        "1970-01-02T00:00:00Z",
        "86400",
        noon,
        noon.replace(tzinfo=None),
    ):
        assert seconds.as_of(moment).cut == 86_400
    assert seconds.as_of("1970-01-02T00:00:00.5Z").cut == 86_401  # rounds up: 00:00:00 is before it
    assert seconds.as_of("1970-01-02T02:00:00+02:00").cut == 86_400
    in_days = dated(store_of, [1, 2], time_unit="days")
    assert in_days.as_of("1.5").cut == 129_600  # text counts in the unit of the input
    assert in_days.as_of(129_600).cut == 129_600  # a number is a stored time
    fine = dated(store_of, [1_600_000_000_123], time_unit="ms")
    assert fine.unit == "us"
    assert fine.as_of("1600000000123").cut == 1_600_000_000_123_000


@pytest.mark.parametrize("moment", ["yesterday", 1.5, True, "12:00", "1e999999999", "inf", "1/2"])
def test_moments_that_are_none(store_of: Make, moment: Any) -> None:
    with pytest.raises(UsageError, match="as_of: must be"):
        dated(store_of, [1]).as_of(moment)
    with pytest.raises(UsageError, match="counts steps, not dates"):
        store_of(ROWS).as_of("2020-01-01")


def test_look_ups_go_both_ways_for_many_accounts_at_once(store_of: Make) -> None:
    names = [f"n{i:05d}" for i in range(3000)]
    store = store_of([(name, "hub", 1, 1.0) for name in names])
    for wanted in (names[::-1], names[7:8], []):
        numbers = store.accounts.find_many([*wanted, "nobody"])
        assert numbers[-1] == -1
        assert store.accounts.take(numbers[:-1]).to_pylist() == wanted


def test_nothing_mapped_can_be_written_to(store_of: Make) -> None:
    history = store_of(ROWS).as_of().history("a", "b")
    with pytest.raises(ValueError, match="read-only"):
        history.time[0] = 0
