from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.live.streams import NAMES, NEW, frame_of, random_model, rows_at, store_of_rows

from gtea.live.live_scorer import LiveScorer
from gtea.store.store import StoreArrays


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("loops", [False, True])
def test_it_is_the_store_of_all_events(directed: bool, loops: bool) -> None:
    """Byte for byte, whatever came late, tied or new; and later events leave it alone."""
    generator = np.random.default_rng([int(directed), int(loops)])
    rows = rows_at(generator, 40, NAMES, 100, 130, 2)
    base = store_of_rows(rows, directed=directed, loops=loops)
    scorer = LiveScorer(random_model(base, generator, "gtea-l", nodes=("statistics",)), base, allow_any_date=True)
    for _ in range(4):
        batch = rows_at(generator, 12, [*NAMES, *NEW], 95, 160, 4)
        rows = rows + batch
        scorer.update(frame_of(batch))
    make = scorer.frozen()
    scorer.update(frame_of(rows_at(generator, 12, [*NAMES, *NEW], 95, 160, 4)))
    found, whole = make(), store_of_rows(rows, directed=directed, loops=loops)
    assert found.accounts.to_arrow() == whole.accounts.to_arrow()
    for name in StoreArrays.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(found.arrays, name), getattr(whole.arrays, name), err_msg=name)
    np.testing.assert_array_equal(found.node_features, whole.node_features)
    counts = {name: whole.manifest.counts[name] for name in ("nodes", "edges", "events")}
    assert {name: found.manifest.counts[name] for name in counts} == counts
    assert (found.end, found.manifest.schema) == (whole.end, base.manifest.schema)
    assert dataclasses.is_dataclass(found.as_of())
