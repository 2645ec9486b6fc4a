"""A growing store as it is now, as a store of its own: what explains scores while more events arrive.

Only copying the arrays needs the growing store to stand still. Putting them in order, which takes longer, does not: the
call that is returned may be made in another thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gtea.live.growing_store import GrowingStore
from gtea.store.memory import store_of_numbers
from gtea.store.schema import Schema
from gtea.store.store import Store
from gtea.store.strings import StringTable, table_of

_COPIED = ("edge_a", "edge_b", "edge_offset", "edge_stop", "event_time", "event_reverse", "event_features")


def freeze(store: GrowingStore) -> Callable[[], Store]:
    """Copy a store. What is returned makes of the copies the store that ``append`` would have made, in memory."""
    arrays = {name: np.array(getattr(store.arrays, name)) for name in (*_COPIED, "event_categories")}
    tables = [(_table(table), np.array(table.rank)) for table in store.tables]
    given = {
        name: np.array(array[: store.num_nodes])
        for name, array in (("node_features", store.node_features), ("node_in_table", store.node_in_table))
        if array is not None
    }
    manifest, path, directed = store.manifest, store.path, store.directed
    schema = Schema.from_json(manifest.schema)

    def made() -> Store:
        (ids, number), *words = (_in_order(*table) for table in tables)
        edge, event = _events(arrays["edge_offset"], arrays["edge_stop"])
        ends = number[arrays["edge_a"][edge]], number[arrays["edge_b"][edge]]
        turned = arrays["event_reverse"][event].astype(bool)
        if not directed:  # which end is first goes by the canonical order, on disk as in memory
            assert bool(np.all(ends[0] <= ends[1])), "edges have their ends in canonical order"
        src, dst = np.where(turned, ends[1], ends[0]), np.where(turned, ends[0], ends[1])
        features, codes = arrays["event_features"][event], arrays["event_categories"][event]
        order = np.argsort(number)
        found = store_of_numbers(
            ids,
            src,
            dst,
            arrays["event_time"][event],
            features={name: features[:, i] for i, name in enumerate(schema.columns.features)},
            categories={name: words[i][1][codes[:, i]] for i, name in enumerate(schema.columns.categorical)},
            vocabularies=tuple(table for table, _ in words),
            node_columns=schema.node_columns,
            node_arrays={name: array[order] for name, array in given.items()},
            unit=str(manifest.time["unit"]),
            directed=directed,
        )
        counts = {**manifest.counts, **{name: found.manifest.counts[name] for name in ("nodes", "edges", "events")}}
        return Store(path, replace(manifest, counts=counts, time=found.manifest.time), found._mapped)

    return made


def _table(table: StringTable) -> pa.LargeStringArray:
    return pa.concat_arrays([StringTable(table.offsets, table.data).to_arrow()])


def _in_order(strings: pa.LargeStringArray, rank: NDArray[np.int64]) -> tuple[StringTable, NDArray[np.int64]]:
    """The strings in canonical order, and the new number of each."""
    order = np.argsort(rank[: len(strings)], kind="stable")
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    return table_of(strings.take(pa.array(order))), number


def _events(start: NDArray[np.int64], stop: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each event, edge by edge, its edge and its row."""
    counts = stop - start
    edge = np.repeat(np.arange(len(start)), counts)
    first = np.repeat(start - np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(start) else start, counts)
    return edge, np.arange(len(edge)) + first
