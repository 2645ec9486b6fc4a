"""A growing store answers as the store with all events would."""

from __future__ import annotations

import numpy as np
from tests.live.streams import frame_of, rows_at, store_of_rows

from gtea.features.account_statistics import statistics
from gtea.live.event_rows import EventReader
from gtea.live.growing_store import GrowingStore
from gtea.store.account_keys import keys_of_nodes
from gtea.store.schema import Schema
from gtea.store.store import Store


def grown(seed: int, base: int = 30) -> tuple[GrowingStore, Store, Store]:
    generator = np.random.default_rng(seed)
    rows = rows_at(generator, base, ["b", "d", "f"], 100, 130, 2)
    more = rows_at(generator, 20, ["a", "b", "cc", "f"], 95, 140, 4)
    old, new = store_of_rows(rows, directed=False), store_of_rows(rows + more, directed=False)
    reader = EventReader(Schema.from_json(old.manifest.schema), allow_any_date=True)
    growing = GrowingStore(old)
    growing.add(growing.numbered(reader.frame(frame_of(more), growing.unit)))
    return growing, new, old


def test_statistics_keys_and_words_are_those_of_the_store_with_all_events() -> None:
    growing, new, _ = grown(0)
    names = new.accounts.to_arrow().to_pylist()
    here, there = growing.accounts.find_many(names), np.arange(len(names))
    assert (growing.num_nodes, growing.end) == (new.num_nodes, new.end)
    expected = statistics(new.as_of(new.end), there)
    np.testing.assert_array_equal(statistics(growing.as_of(growing.end), here), expected)
    np.testing.assert_array_equal(keys_of_nodes(growing, here), keys_of_nodes(new, there))
    assert growing.node_features is not None
    assert new.node_features is not None
    np.testing.assert_array_equal(growing.node_features[here], new.node_features)
    assert set(growing.vocabularies[0].to_arrow().to_pylist()) == set(new.vocabularies[0].to_arrow().to_pylist())


def test_what_is_saved_makes_it_again() -> None:
    growing, _, old = grown(1)
    growing.refine("us")
    again = GrowingStore(old, growing.saved_arrays())
    assert (again.num_nodes, again.end, again.unit) == (growing.num_nodes, growing.end, "us")
    nodes = np.arange(growing.num_nodes)
    np.testing.assert_array_equal(
        statistics(again.as_of(again.end), nodes), statistics(growing.as_of(growing.end), nodes)
    )
    assert again.rank.argsort().tolist() == growing.rank.argsort().tolist()
    assert again.num_bytes == growing.num_bytes


def test_an_empty_store_can_grow_and_be_saved() -> None:
    growing, new, _ = grown(2, base=0)
    assert growing.end == new.end
    empty = GrowingStore(store_of_rows([], directed=False))
    assert GrowingStore(store_of_rows([], directed=False), empty.saved_arrays()).end == 0


def test_a_finer_unit_keeps_the_moments() -> None:
    growing, _, _ = grown(3)
    before = growing.date(growing.end - 1)
    growing.refine("ns")
    assert growing.date(growing.end - 1) == before
