from __future__ import annotations

from typing import Any

import numpy as np

from gtea.features.neighbour_labels import neighbour_labels_of
from gtea.report.known_labels import KnownLabels


def test_labels_of_training_by_account(random_store: Any) -> None:
    store = random_store()
    labels = neighbour_labels_of(store, np.array([3, 7]), np.array([1, 0]), ("bad", "good"))
    known = KnownLabels(store, labels)
    assert known.of([7, 3, 5]) == ["bad", "good", None]
    assert known.of([]) == []
    assert KnownLabels(store, None).of([7]) == [None]
    none = neighbour_labels_of(store, np.array([], dtype=np.int64), np.array([], dtype=np.int64), ("bad", "good"))
    assert KnownLabels(store, none).of([7]) == [None]
