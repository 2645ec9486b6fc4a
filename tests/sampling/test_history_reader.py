from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gtea.errors import UsageError
from gtea.features.preprocessing import fit_preprocessing
from gtea.sampling.collate import HistoryReader
from gtea.store.store import Store


@pytest.mark.parametrize("max_events", [0, 1, 3])
@pytest.mark.parametrize("cut", [0, 100, 1000])
def test_the_number_of_events_is_that_before_the_cut(
    random_store: Callable[..., Store], cut: int, max_events: int
) -> None:
    store = random_store()
    reader = HistoryReader(store.as_of(cut), fit_preprocessing(store.as_of()), max_events)
    edges = np.arange(store.num_edges)
    lengths = reader.read(edges, store.arrays.edge_a.astype(np.int64)).offset.diff().numpy()
    assert reader.num_events(edges).tolist() == lengths.tolist()


def test_negative_lengths_are_refused(random_store: Callable[..., Store]) -> None:
    store = random_store()
    with pytest.raises(UsageError, match=r"max_events: must not be negative \(got -1\)"):
        HistoryReader(store.as_of(), fit_preprocessing(store.as_of()), -1)
