from __future__ import annotations

import json

import numpy as np
import pytest

from gtea.config.run_config import TimeOrigin
from gtea.errors import ModelError
from gtea.features.event_features import EventEncoder, EventPreprocessing
from gtea.features.scaling import ColumnScaler, TimeScaler
from gtea.features.vocabulary import Vocabulary
from gtea.store.graph import graph_of
from gtea.store.histories import gather_histories
from gtea.store.memory import store_in_memory
from gtea.store.store import Store

DAYS = TimeScaler(0, 86_400 * 10**9, 1.0)


def scaler(*names: str) -> ColumnScaler:
    return ColumnScaler(names, (0.0,) * len(names), (1.0,) * len(names), (2.0,) * len(names))


def three_events() -> Store:
    return store_in_memory(
        ["a", "b", "a"],
        ["b", "a", "b"],
        [0, 43_200, 86_400],
        features={"fee": [0, 0, 7], "amount": [1, 3, 5]},
        categorical={"kind": ["cash", "wire", "card"]},
    )


def test_columns_stand_as_named() -> None:
    store = three_events()
    events = EventPreprocessing(scaler("amount", "gap"), (Vocabulary("kind", ("wire", "gone", "cash")),))
    assert events.names == ("sent", "amount", "gap", "kind=wire", "kind=gone", "kind=cash", "kind: other")
    seen_from = np.array([store.node("a"), store.node("b")])
    raw = gather_histories(graph_of(store.as_of()), np.array([0, 0]), seen_from, 0)
    histories = EventEncoder(store, events, DAYS).encode(raw)

    assert histories.offset.tolist() == [0, 3, 6]
    assert histories.time.tolist() == [0, 0.5, 1] * 2
    as_a_sees_it = [
        [1, 0, -0.5, 0, 0, 1, 0],
        [-1, 1, (43_200 - 1) / 2, 1, 0, 0, 0],
        [1, 2, (43_200 - 1) / 2, 0, 0, 0, 1],
    ]
    assert histories.features[:3].tolist() == as_a_sees_it
    assert histories.features[3:, 0].tolist() == [-1, 1, -1]
    assert histories.features[3:, 1:].tolist() == histories.features[:3, 1:].tolist()


@pytest.mark.parametrize(
    ("time_origin", "kept", "expected"),
    [("pair", 0, [0, 2, 0, 3]), ("pair", 1, [2, 3]), ("calendar", 0, [4, 6, 10, 13]), ("calendar", 1, [6, 13])],
)
def test_times_count_from_the_pairs_first_event_or_from_the_origin(
    time_origin: TimeOrigin, kept: int, expected: list[int]
) -> None:
    days = np.array([4, 6, 10, 13]) * 86_400
    store = store_in_memory(["a", "a", "a", "a"], ["b", "b", "c", "c"], days)
    raw = gather_histories(graph_of(store.as_of()), np.array([0, 1]), np.array([store.node("a")] * 2), kept)
    histories = EventEncoder(store, EventPreprocessing(scaler("gap"), (), time_origin), DAYS).encode(raw)
    assert histories.time.tolist() == expected


def test_columns_that_the_store_lacks() -> None:
    store = three_events()
    with pytest.raises(ModelError, match=r"event features: the model needs tip \(the store has fee, amount\)"):
        EventEncoder(store, EventPreprocessing(scaler("tip", "gap"), ()), DAYS)
    with pytest.raises(ModelError, match=r"categorical columns: the model needs bank \(the store has kind\)"):
        EventEncoder(store, EventPreprocessing(scaler("gap"), (Vocabulary("bank", ()),)), DAYS)


def test_preprocessing_survives_json() -> None:
    events = EventPreprocessing(scaler("amount", "gap"), (Vocabulary("kind", ("wire",)),))
    assert EventPreprocessing.from_json(json.loads(json.dumps(events.to_json()))) == events
