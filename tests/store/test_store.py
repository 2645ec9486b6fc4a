"""An open store: who is in it, and that it stays as it was opened."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from sklearn.base import clone

from gtea.errors import DataError, StoreError
from gtea.ingestion.append import append
from gtea.store.store import Store

ROWS = [("a", "b", 1, 2.0), ("b", "c", 5, 3.0), ("a", "b", 9, 4.0)]


def test_accounts_by_number_and_by_id(store_of: Callable[..., Store]) -> None:
    store = store_of(ROWS)
    assert [store.account(store.node(name)) for name in "abc"] == ["a", "b", "c"]
    with pytest.raises(DataError, match=r"'A': no such account in s\. Ids are compared exactly as written"):
        store.node("A")
    assert repr(store) == "<gtea.Store s: 3 nodes, 2 edges, 3 events>"
    assert clone(store, safe=False) is store


def test_the_cut_is_after_the_last_event_unless_another_is_named(store_of: Callable[..., Store]) -> None:
    store = store_of(ROWS)
    assert store.end == store.as_of().cut == 10
    assert store.as_of(5).cut == store.as_of("5").cut == 5
    dated = store_of(ROWS, time_unit="s")
    assert dated.as_of(dt.datetime(1970, 1, 1, 0, 0, 5)).cut == dated.as_of("1970-01-01T00:00:05Z").cut
    assert dated.date(5) == "1970-01-01T00:00:05Z"
    assert store_of([]).end == 0


def test_an_open_store_stays_as_it_is(store_of: Callable[..., Store], tmp_path: Path) -> None:
    store = store_of(ROWS, out=tmp_path / "s")
    before = store.digest
    append(tmp_path / "s", pa.table({"src": ["c"], "dst": ["a"], "time": [12], "amount": [1.0]}))
    assert (store.num_events, store.digest) == (3, before)
    assert store.arrays.event_time.tolist() == [1, 9, 5]
    again = Store.open(tmp_path / "s")
    assert (again.num_events, again.digest != before) == (4, True)


def test_a_store_with_a_missing_file_is_refused(store_of: Callable[..., Store], tmp_path: Path) -> None:
    store = store_of(ROWS, out=tmp_path / "s")
    (tmp_path / "s" / store.manifest.folder / "event_time.bin").unlink()
    with pytest.raises(StoreError, match=r"event_time\.bin: is missing from the store"):
        Store.open(tmp_path / "s")
