"""The store that ``append`` would make of a store on disk and some events, in memory: what explains live scores.

The events go through a ``GrowingStore``, as those of a stream do, and what has grown is put in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gtea.live.event_rows import EventReader, EventRow
from gtea.live.growing_graph import NewEvents
from gtea.live.growing_store import GrowingStore
from gtea.store.memory import store_of_numbers
from gtea.store.schema import Schema
from gtea.store.store import Store
from gtea.store.strings import StringTable, table_of


def store_with(store: Store, rows: Sequence[EventRow]) -> Store:
    """A store with some more events, checked ones, that came in this order."""
    if not rows:
        return store
    growing, schema = GrowingStore(store), Schema.from_json(store.manifest.schema)
    read = EventReader(schema).rows(rows, growing.unit)
    if read.unit != growing.unit:
        growing.refine(read.unit)
    events = growing.numbered(read)
    if schema.self_loops == "drop":
        kept = events.src != events.dst
        events = NewEvents(*(column[kept] for column in events))
    growing.add(events)
    return freeze(growing)


def freeze(store: GrowingStore) -> Store:
    """A growing store as it is now, in the order of a store on disk."""
    arrays, schema = store.arrays, Schema.from_json(store.manifest.schema)
    (ids, number), *words = (_in_order(_table(table), table.rank) for table in store.tables)
    edge, event = _events(arrays.edge_offset, arrays.edge_stop)
    ends = number[arrays.edge_a[edge]], number[arrays.edge_b[edge]]
    turned = arrays.event_reverse[event].astype(bool)
    if not store.directed:  # which end is first goes by the canonical order, on disk as in memory
        assert bool(np.all(ends[0] <= ends[1])), "edges have their ends in canonical order"
    src, dst = np.where(turned, ends[1], ends[0]), np.where(turned, ends[0], ends[1])
    features, codes = arrays.event_features[event], arrays.event_categories[event]
    order = np.argsort(number)
    given = {"node_features": store.node_features, "node_in_table": store.node_in_table}
    found = store_of_numbers(
        ids,
        src,
        dst,
        arrays.event_time[event],
        features={name: features[:, i] for i, name in enumerate(schema.columns.features)},
        categories={name: words[i][1][codes[:, i]] for i, name in enumerate(schema.columns.categorical)},
        vocabularies=tuple(table for table, _ in words),
        node_columns=schema.node_columns,
        node_arrays={
            name: np.asarray(array)[: store.num_nodes][order] for name, array in given.items() if array is not None
        },
        unit=str(store.manifest.time["unit"]),
        directed=store.directed,
    )
    counts = {**store.manifest.counts, **{name: found.manifest.counts[name] for name in ("nodes", "edges", "events")}}
    return Store(store.path, replace(store.manifest, counts=counts, time=found.manifest.time), found._mapped)


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
