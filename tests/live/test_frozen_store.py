from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.live.streams import NAMES, NEW, frame_of, rows_at, store_of_rows

from gtea.live.event_rows import EventReader
from gtea.live.frozen_store import freeze, store_with
from gtea.live.growing_store import GrowingStore
from gtea.store.schema import Schema
from gtea.store.store import Store, StoreArrays


def require_same(found: Store, whole: Store) -> None:
    assert found.accounts.to_arrow() == whole.accounts.to_arrow()
    for name in StoreArrays.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(found.arrays, name), getattr(whole.arrays, name), err_msg=name)
    np.testing.assert_array_equal(found.node_features, whole.node_features)
    counts = {name: whole.manifest.counts[name] for name in ("nodes", "edges", "events")}
    assert {name: found.manifest.counts[name] for name in counts} == counts
    assert (found.end, found.unit, found.manifest.schema) == (whole.end, whole.unit, whole.manifest.schema)
    assert dataclasses.is_dataclass(found.as_of())


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("loops", [False, True])
def test_it_is_the_store_of_all_events(directed: bool, loops: bool) -> None:
    """Byte for byte, whatever came late, tied or new."""
    generator = np.random.default_rng([int(directed), int(loops)])
    rows = rows_at(generator, 40, NAMES, 100, 130, 2)
    base = store_of_rows(rows, directed=directed, loops=loops)
    more = rows_at(generator, 48, [*NAMES, *NEW], 95, 160, 4)
    reader = EventReader(Schema.from_json(base.manifest.schema), allow_any_date=True)
    found = store_with(base, [reader.record(record) for record in frame_of(more).to_pylist()])
    require_same(found, store_of_rows(rows + more, directed=directed, loops=loops))


def test_without_events_it_is_the_store() -> None:
    base = store_of_rows(rows_at(np.random.default_rng(1), 40, NAMES, 100, 130, 2), directed=False)
    assert store_with(base, []) is base
    require_same(freeze(GrowingStore(base)), base)


def test_a_finer_time_makes_all_times_finer() -> None:
    base = store_of_rows(rows_at(np.random.default_rng(1), 40, NAMES, 100, 130, 2), directed=False)
    reader = EventReader(Schema.from_json(base.manifest.schema), allow_any_date=True)
    record = {"src": "b", "dst": "d", "time": "1970-01-01T00:02:30.5Z", "amount": 1.0, "kind": "card"}
    found = store_with(base, [reader.record(record)])
    assert (found.unit, found.end) == ("us", 150_500_001)
    assert found.num_events == base.num_events + 1
