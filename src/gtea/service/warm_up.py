"""Compile and load all that an event needs, before the first one comes: where numba keeps no cache, that takes minutes.

A store of three accounts with the columns of the real one goes through what every event goes through.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from gtea.live.event_rows import EventRow
from gtea.live.live_scorer import LiveScorer
from gtea.scoring.scorer import NodeModel
from gtea.store.memory import store_of_numbers
from gtea.store.schema import Schema
from gtea.store.store import Store
from gtea.store.strings import table_from, table_of

_SECOND = 10**9


def warm_up(model: NodeModel, store: Store) -> None:
    """Score two events in memory. The store is only asked for its columns."""
    scorer = LiveScorer(model, _small_copy(store))
    schema = Schema.from_json(store.manifest.schema)
    features, words = [0.0] * len(schema.columns.features), [""] * len(schema.columns.categorical)
    time = store.end if store.unit == "step" else _SECOND
    for src, dst in (("a", "c"), ("d", "b")):
        scorer.update_records([EventRow(src, dst, time, features, words)])
    scorer.settle(1)
    scorer.settle()
    scorer.standing().top(1)


def _small_copy(store: Store) -> Store:
    """A store of three accounts and two events, with the columns and settings of another."""
    schema = Schema.from_json(store.manifest.schema)
    columns = schema.columns
    words = table_of(pa.array([""], pa.large_string()))
    node_features = None if schema.node_columns is None else len(schema.node_columns.features)
    made = store_of_numbers(
        table_from([pa.array(["a", "b", "c"], pa.large_string())]),
        np.array([0, 1]),
        np.array([1, 2]),
        np.array([0, 1]),
        features={name: np.zeros(2, dtype=np.float32) for name in columns.features},
        categories={name: np.zeros(2, dtype=np.int64) for name in columns.categorical},
        vocabularies=(words,) * len(columns.categorical),
        node_columns=schema.node_columns,
        node_arrays={}
        if node_features is None
        else {
            "node_features": np.zeros((3, node_features), dtype=np.float32),
            "node_in_table": np.zeros(3, dtype=np.uint8),
        },
        unit=store.unit,
        directed=store.directed,
    )
    made.manifest = replace(made.manifest, schema=store.manifest.schema)
    return made
