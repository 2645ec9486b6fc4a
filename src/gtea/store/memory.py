"""Build a store in memory from columns of events, for tests, benchmarks and notebooks.

The arrays are byte for byte what ``ingest`` would write for the same rows (a test compares them). Nothing is
validated, hashed or written, and everything must fit in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from gtea.store.layout import NODE_IDS, vocabulary_name
from gtea.store.manifest import Manifest
from gtea.store.schema import EventColumns, NodeColumns, Schema
from gtea.store.store import Store
from gtea.store.strings import StringTable, table_from


def store_in_memory(
    src: Sequence[str],
    dst: Sequence[str],
    time: ArrayLike,
    *,
    features: dict[str, ArrayLike] | None = None,
    categorical: dict[str, Sequence[str]] | None = None,
    nodes: Mapping[str, Sequence[float]] | None = None,
    node_features: Sequence[str] = (),
    unit: str = "s",
    directed: bool = False,
) -> Store:
    """Build a store of the given events. Ties in time keep the order of the rows. Self-loops are kept.

    Args:
        nodes: The node table: account id -> one value for each of ``node_features``.
    """
    ids = table_from([_words(src), _words(dst), _words(list(nodes or {}))])
    words = {name: _words(column) for name, column in (categorical or {}).items()}
    vocabularies = {name: table_from([column]) for name, column in words.items()}
    return store_of_numbers(
        ids,
        ids.find_many(_words(src)),
        ids.find_many(_words(dst)),
        np.asarray(time, dtype=np.int64),
        features={name: np.asarray(column, dtype=np.float32) for name, column in (features or {}).items()},
        categories={name: table.find_many(words[name]) for name, table in vocabularies.items()},
        vocabularies=tuple(vocabularies.values()),
        node_columns=None if nodes is None else NodeColumns("account", tuple(node_features)),
        node_arrays={} if nodes is None else _node_arrays(nodes, ids, len(node_features)),
        unit=unit,
        directed=directed,
    )


def store_of_numbers(
    accounts: StringTable,
    src: NDArray[np.int64],
    dst: NDArray[np.int64],
    time: NDArray[np.int64],
    *,
    features: dict[str, NDArray[np.float32]],
    categories: dict[str, NDArray[np.int64]] | None = None,
    vocabularies: tuple[StringTable, ...] = (),
    node_columns: NodeColumns | None = None,
    node_arrays: dict[str, NDArray[Any]] | None = None,
    unit: str = "s",
    directed: bool = False,
) -> Store:
    """Like ``store_in_memory``, for events whose accounts are already numbered and whose categories are codes."""
    codes = categories or {}
    arrays = _string_arrays(NODE_IDS, accounts)
    for number, table in enumerate(vocabularies):
        arrays |= _string_arrays(vocabulary_name(number), table)
    arrays |= _event_arrays(src, dst, time, list(features.values()), list(codes.values()), directed=directed)
    arrays |= _slot_arrays(arrays, len(accounts))
    arrays |= node_arrays or {}
    for array in arrays.values():
        array.flags.writeable = False  # as if mapped
    columns = EventColumns("src", "dst", "time", tuple(features), tuple(codes))
    schema = Schema(columns, node_columns, time_unit="step" if unit == "step" else "s", directed=directed)
    span = {"first": int(time.min()), "last": int(time.max())} if len(time) else {"first": None, "last": None}
    counts = {"nodes": len(accounts), "edges": len(arrays["edge_a"]), "events": len(time)}
    manifest = Manifest("memory", counts, {"unit": unit, **span}, schema.to_json(), {}, [], {}, "", "")
    return Store(Path("memory"), manifest, arrays)


def _words(words: Sequence[str]) -> pa.LargeStringArray:
    return pa.array(words, pa.large_string())


def _string_arrays(name: str, table: StringTable) -> dict[str, NDArray[Any]]:
    return {f"{name}_offset": np.array(table.offsets), f"{name}_bytes": np.array(table.data)}


def _event_arrays(
    src: NDArray[np.int64],
    dst: NDArray[np.int64],
    time: NDArray[np.int64],
    features: list[NDArray[np.float32]],
    codes: list[NDArray[np.int64]],
    *,
    directed: bool,
) -> dict[str, NDArray[Any]]:
    """Edges and events, ordered by (a, b, time, row)."""
    a, b = (src, dst) if directed else (np.minimum(src, dst), np.maximum(src, dst))
    pair = (a << 32) | b
    order = np.lexsort((time, pair))
    pair, time = pair[order], time[order]
    starts = np.flatnonzero(np.diff(pair, prepend=-1))
    offset = np.append(starts, len(order))
    reverse = np.zeros(len(order), dtype=bool) if directed else (src > dst)[order]
    return {
        "edge_a": (pair[starts] >> 32).astype(np.int32),
        "edge_b": pair[starts].astype(np.int32),
        "edge_offset": offset,
        "edge_first_time": time[starts],
        "edge_last_time": time[offset[1:] - 1],
        "event_time": time,
        "event_reverse": reverse.astype(np.uint8),
        "event_features": _rows(features, order, np.float32),
        "event_categories": _rows(codes, order, np.int32),
    }


def _rows(columns: Sequence[NDArray[Any]], order: NDArray[np.int64], dtype: type[np.generic]) -> NDArray[Any]:
    rows = np.empty((len(order), len(columns)), dtype=dtype)
    for i, column in enumerate(columns):
        rows[:, i] = column[order]
    return rows


def _slot_arrays(arrays: dict[str, NDArray[Any]], num_nodes: int) -> dict[str, NDArray[Any]]:
    """The slots of both ends of every edge, ordered by (node, first event, edge)."""
    a, b, first = arrays["edge_a"], arrays["edge_b"], arrays["edge_first_time"]
    edge = np.arange(len(a))
    other = np.flatnonzero(a != b)
    node = np.concatenate([a, b[other]])
    slot_edge = np.concatenate([edge, edge[other]])
    order = np.lexsort((slot_edge, first[slot_edge], node))
    return {
        "node_offset": np.concatenate([[0], np.cumsum(np.bincount(node, minlength=num_nodes))]).astype(np.int64),
        "slot_neighbour": np.concatenate([b, a[other]])[order],
        "slot_edge": slot_edge[order],
        "slot_first_time": first[slot_edge][order],
    }


def _node_arrays(nodes: Mapping[str, Sequence[float]], ids: StringTable, width: int) -> dict[str, NDArray[Any]]:
    features = np.zeros((len(ids), width), dtype=np.float32)
    present = np.zeros(len(ids), dtype=np.uint8)
    rows = ids.find_many(list(nodes))
    features[rows] = np.asarray(list(nodes.values()), dtype=np.float32).reshape(len(nodes), width)
    present[rows] = 1
    return {"node_features": features, "node_in_table": present}
