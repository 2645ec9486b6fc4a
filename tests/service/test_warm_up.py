from __future__ import annotations

import numpy as np
import pytest
from tests.live.streams import NAMES, random_model, rows_at, store_of_rows

from gtea.service.warm_up import warm_up


@pytest.mark.parametrize("name", ["hybrid", "gtea-l"])
@pytest.mark.parametrize("directed", [False, True])
def test_any_model_can_be_warmed_up_without_its_store(name: str, directed: bool) -> None:
    generator = np.random.default_rng(1)
    store = store_of_rows(rows_at(generator, 40, NAMES, 100, 130, 2), directed=directed)
    model = random_model(store, generator, name)
    before = model.probabilities(store, store.end, np.arange(store.num_nodes))
    warm_up(model, store)
    np.testing.assert_array_equal(model.probabilities(store, store.end, np.arange(store.num_nodes)), before)
