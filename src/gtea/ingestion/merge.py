"""Merge a delivery into a store, byte for byte as if all data had been ingested at once.

Everything in a version is in a canonical order: accounts and words by their bytes, edges by their ends, events by time
and then by delivery. Merging is therefore interleaving: for each new row, count the old rows that come before it, and
copy the old arrays around the new rows in chunks. In a tie, old events come first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError, StoreError
from gtea.ingestion.adjacency import write_adjacency
from gtea.ingestion.array_writer import ArrayFolder, ArrayWriter
from gtea.ingestion.duplicates import equal_groups
from gtea.ingestion.workbench import Workbench
from gtea.store.layout import NODE_IDS, vocabulary_name
from gtea.store.store import Store
from gtea.store.strings import merge_tables
from gtea.store.time_units import unit_ratio
from gtea.store.view import prefixes

OnDuplicate = Literal["error", "keep", "drop"]
_Words = list[tuple[NDArray[np.int64], NDArray[np.int64]]]
"""For each categorical column, the codes of the old and of the new words in the merged vocabulary."""
_Conversion = Callable[[NDArray[Any]], NDArray[Any]]
_LOW_HALF = (1 << 32) - 1
_CHUNK = 1 << 20
_SHOWN = 10


@dataclass(frozen=True)
class Merged:
    """The counts of a merged version."""

    num_nodes: int
    num_edges: int
    num_events: int
    redelivered: int
    """New events that the store already had. They are left out if ``on_duplicate`` is ``drop``."""
    duplicates: int
    """Identical events in the merged store beyond the first of each."""
    nodes_without_row: dict[str, int]
    """For the data report: the number of accounts without a row in a node table; empty without a node table."""


@dataclass(frozen=True)
class _Events:
    """Events of the old or the new store, with the node, edge and word numbers of the merged store."""

    edge: NDArray[np.int64]
    time: NDArray[np.int64]
    reverse: NDArray[np.uint8]
    features: NDArray[np.float32]
    categories: NDArray[np.int32]

    def take(self, rows: NDArray[Any]) -> _Events:
        return _Events(*(column[rows] for column in self.columns()))

    def columns(self) -> tuple[NDArray[Any], ...]:
        return self.edge, self.time, self.reverse, self.features, self.categories

    def flat(self) -> list[NDArray[Any]]:
        """Every field as a separate column."""
        matrices = [*self.features.T, *self.categories.T]
        return [self.edge, self.time, self.reverse, *(np.ascontiguousarray(column) for column in matrices)]


def merge(bench: Workbench, arrays: ArrayFolder, old: Store, new: Store, on_duplicate: OnDuplicate) -> Merged:
    """Write the union of two stores of the same schema. The time unit of ``new`` may be finer, never coarser."""
    accounts, old_nodes, new_nodes = merge_tables(old.accounts, new.accounts)
    arrays.write_strings(NODE_IDS, accounts)
    words = _merge_vocabularies(arrays, old, new)
    scale = unit_ratio(old.unit, new.unit)
    _refuse_overflow(old, new, scale)
    old_keys, new_keys = _keys(old, old_nodes), _keys(new, new_nodes)
    keys = np.union1d(old_keys, new_keys)
    old_edges, new_edges = np.searchsorted(keys, old_keys), np.searchsorted(keys, new_keys)

    fresh = _new_events(new, new_edges, words)
    positions, ties = _positions(old, old_edges, fresh, scale)
    tied_old = _tied_old_events(old, old_edges, words, scale, ties)
    repeated, shared = _redelivered(tied_old, fresh, ties)
    if on_duplicate == "error" and repeated.any():
        _refuse(old, new, fresh, repeated, keys, accounts)
    if on_duplicate == "drop":
        fresh, positions = fresh.take(~repeated), positions[~repeated]

    counts = np.zeros(len(keys), dtype=np.int64)
    counts[old_edges] = np.diff(old.arrays.edge_offset)
    counts += np.bincount(fresh.edge, minlength=len(keys))
    # Dropping redelivered events can't leave an edge empty: the store already has them.
    first, last = _spans(old, old_edges, fresh, scale, len(keys))
    a, b = (keys >> np.uint64(32)).astype(np.int32), (keys & np.uint64(_LOW_HALF)).astype(np.int32)
    arrays.write("edge_a", a)
    arrays.write("edge_b", b)
    arrays.write("edge_offset", np.concatenate([[0], np.cumsum(counts)]))
    arrays.write("edge_first_time", first)
    arrays.write("edge_last_time", last)
    _interleave_events(arrays, old, fresh, positions, words, scale)
    nodes_without_row = _merge_node_features(arrays, old, new, old_nodes, new_nodes, len(accounts))
    arrays.finish_open()
    write_adjacency(bench, arrays, len(accounts))

    redelivered = int(repeated.sum())
    duplicates = old.report["duplicates"] + new.report["duplicates"] + shared
    if on_duplicate == "drop":
        duplicates -= redelivered
    return Merged(len(accounts), len(keys), int(counts.sum()), redelivered, duplicates, nodes_without_row)


def _refuse_overflow(old: Store, new: Store, scale: int) -> None:
    """Refuse a delivery in a finer unit in which the times of the store don't fit into int64."""
    limits = np.iinfo(np.int64)
    far = [int(t) for t in (old.manifest.time["first"], old.manifest.time["last"]) if t is not None]
    far = [t for t in far if not limits.min <= t * scale < limits.max]
    if not far:
        return
    row = int(np.argmax(new.arrays.event_time % scale != 0))
    edge = int(np.searchsorted(new.arrays.edge_offset, row, side="right")) - 1
    ends = (new.account(int(new.arrays.edge_a[edge])), new.account(int(new.arrays.edge_b[edge])))
    raise DataError(
        f"{old.path.name}: all times must fit into 64 bits in {new.unit!r}, as needed for the new event between "
        f"{ends[0]!r} and {ends[1]!r} at {new.date(int(new.arrays.event_time[row]))} "
        f"(got {old.date(far[0])} in the store). Round the times of the delivery to {old.unit!r}."
    )


def _merge_vocabularies(arrays: ArrayFolder, old: Store, new: Store) -> _Words:
    maps = []
    for number, (before, added) in enumerate(zip(old.vocabularies, new.vocabularies, strict=True)):
        table, old_words, new_words = merge_tables(before, added)
        arrays.write_strings(vocabulary_name(number), table)
        maps.append((old_words, new_words))
    return maps


def _keys(store: Store, nodes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The edges' ends with the merged node numbers, as sortable keys. The maps are increasing and keep the order."""
    a, b = nodes[store.arrays.edge_a].astype(np.uint64), nodes[store.arrays.edge_b].astype(np.uint64)
    keys = (a << np.uint64(32)) | b
    if (keys[1:] <= keys[:-1]).any() or (np.diff(store.arrays.edge_offset) <= 0).any():
        raise StoreError(
            f"{store.path}: is damaged: edges must be distinct, in order and have events. Check the store with gtea "
            "verify; restore it from a backup or ingest again."
        )
    return keys


def _recoded(categories: NDArray[np.int32], words: _Words, side: int) -> NDArray[np.int32]:
    recoded = np.empty(categories.shape, dtype=np.int32)
    for column, maps in enumerate(words):
        recoded[:, column] = maps[side][categories[:, column]]
    return recoded


def _new_events(new: Store, new_edges: NDArray[np.int64], words: _Words) -> _Events:
    arrays = new.arrays
    edge = np.repeat(new_edges, np.diff(arrays.edge_offset))
    categories = _recoded(arrays.event_categories, words, 1)
    return _Events(edge, arrays.event_time, arrays.event_reverse, arrays.event_features, categories)


def _positions(
    old: Store, old_edges: NDArray[np.int64], fresh: _Events, scale: int
) -> tuple[NDArray[np.int64], tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For each new event, the number of old events before it, and the range of old events that it ties with."""
    offset = old.arrays.edge_offset
    nearest = np.searchsorted(old_edges, fresh.edge)
    start = offset[nearest]
    in_old = np.zeros(len(nearest), dtype=bool)
    inside = nearest < len(old_edges)
    in_old[inside] = old_edges[nearest[inside]] == fresh.edge[inside]
    stop = np.where(in_old, offset[np.minimum(nearest + 1, len(old_edges))], start)
    # Old times are compared in the old unit: t_old * scale < t_new, and t_old * scale <= t_new.
    _, tie_start = prefixes(old.arrays.event_time, start, stop, -(-fresh.time // scale))
    _, tie_stop = prefixes(old.arrays.event_time, tie_start, stop, fresh.time // scale + 1)
    return tie_stop, (tie_start, tie_stop)


def _tied_old_events(
    old: Store,
    old_edges: NDArray[np.int64],
    words: _Words,
    scale: int,
    ties: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> _Events:
    """The old events that share edge and time with a new one."""
    start, stop = (bound[ties[0] < ties[1]] for bound in ties)
    start, once = np.unique(start, return_index=True)
    lengths = stop[once] - start
    begins = np.cumsum(lengths) - lengths
    rows = np.repeat(start - begins, lengths) + np.arange(int(lengths.sum()))
    arrays = old.arrays
    edge = old_edges[np.searchsorted(arrays.edge_offset, rows, side="right") - 1] if len(rows) else rows
    categories = _recoded(arrays.event_categories[rows], words, 0)
    return _Events(
        edge,
        arrays.event_time[rows] * scale,
        arrays.event_reverse[rows],
        arrays.event_features[rows],
        categories,
    )


def _redelivered(
    tied_old: _Events, fresh: _Events, ties: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> tuple[NDArray[np.bool_], int]:
    """Which new events the store already has, matching each old event once, and how many distinct rows match."""
    repeated = np.zeros(len(fresh.time), dtype=bool)
    tied = np.flatnonzero(ties[0] < ties[1])
    if not len(tied):
        return repeated, 0
    new_rows = fresh.take(tied)
    groups = equal_groups([np.concatenate(pair) for pair in zip(tied_old.flat(), new_rows.flat(), strict=True)])
    num_old = len(tied_old.time)
    old_copies = np.bincount(groups[:num_old], minlength=int(groups.max()) + 1)
    new_groups = groups[num_old:]
    # New copy k (from 0) of a row is a redelivery if the store has more than k copies of it.
    order = np.argsort(new_groups, kind="stable")
    ordered = new_groups[order]
    rank = np.empty(len(new_groups), dtype=np.int64)
    rank[order] = np.arange(len(new_groups)) - np.searchsorted(ordered, ordered)
    repeated[tied] = rank < old_copies[new_groups]
    return repeated, len(np.unique(new_groups[old_copies[new_groups] > 0]))


def _refuse(
    old: Store,
    new: Store,
    fresh: _Events,
    repeated: NDArray[np.bool_],
    keys: NDArray[np.uint64],
    accounts: Any,
) -> None:
    total = int(repeated.sum())
    lines = []
    for row in np.flatnonzero(repeated)[:_SHOWN]:
        key = int(keys[fresh.edge[row]])
        ends = [accounts[key >> 32], accounts[key & _LOW_HALF]]
        if fresh.reverse[row]:
            ends.reverse()
        lines.append(f"  {ends[0]!r} to {ends[1]!r} at {new.date(int(fresh.time[row]))}")
    if total > len(lines):
        lines.append(f"  ... and {total - len(lines):,} more")
    raise DataError(
        f"{old.path.name}: already holds {total:,} of the new events, equal in every column:",
        *lines,
        "The delivery seems to overlap an earlier one. Pass --on-duplicate drop to leave them out, "
        "or --on-duplicate keep if they are separate events.",
    )


def _spans(
    old: Store, old_edges: NDArray[np.int64], fresh: _Events, scale: int, num_edges: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and last event time of each merged edge."""
    limits = np.iinfo(np.int64)
    first = np.full(num_edges, limits.max, dtype=np.int64)
    last = np.full(num_edges, limits.min, dtype=np.int64)
    first[old_edges] = old.arrays.edge_first_time * scale
    last[old_edges] = old.arrays.edge_last_time * scale
    np.minimum.at(first, fresh.edge, fresh.time)
    np.maximum.at(last, fresh.edge, fresh.time)
    return first, last


def _interleave_events(
    arrays: ArrayFolder,
    old: Store,
    fresh: _Events,
    positions: NDArray[np.int64],
    words: _Words,
    scale: int,
) -> None:
    """Copy the old event arrays in chunks, and insert the new events at their positions."""
    events = old.arrays
    final = positions + np.arange(len(positions))
    columns: list[tuple[str, NDArray[Any], NDArray[Any], _Conversion]] = [
        ("event_time", events.event_time, fresh.time, lambda rows: rows * scale),
        ("event_reverse", events.event_reverse, fresh.reverse, np.asarray),
        ("event_features", events.event_features, fresh.features, np.asarray),
        ("event_categories", events.event_categories, fresh.categories, lambda rows: _recoded(rows, words, 0)),
    ]
    for name, before, added, convert in columns:
        _interleave(arrays.open(name, before.shape[1] if before.ndim == 2 else None), before, added, final, convert)


def _interleave(
    writer: ArrayWriter, old: NDArray[Any], new: NDArray[Any], final: NDArray[np.int64], convert: _Conversion
) -> None:
    """Write the converted old rows, with new row j at position ``final[j]`` of the result."""
    total = len(old) + len(new)
    for start in range(0, total, _CHUNK):
        stop = min(start + _CHUNK, total)
        low, high = np.searchsorted(final, [start, stop])
        rows = np.empty((stop - start, *old.shape[1:]), dtype=old.dtype)
        is_new = np.zeros(stop - start, dtype=bool)
        is_new[final[low:high] - start] = True
        rows[is_new] = new[low:high]
        rows[~is_new] = convert(old[start - low : stop - high])
        writer.write(rows)


def _merge_node_features(
    arrays: ArrayFolder,
    old: Store,
    new: Store,
    old_nodes: NDArray[np.int64],
    new_nodes: NDArray[np.int64],
    num_nodes: int,
) -> dict[str, int]:
    """Merge the rows of both node tables. An account in both must have the same features in both."""
    if old.node_features is None or old.node_in_table is None:
        return {}
    features = np.zeros((num_nodes, old.node_features.shape[1]), dtype=np.float32)
    present = np.zeros(num_nodes, dtype=np.uint8)
    features[old_nodes], present[old_nodes] = old.node_features, old.node_in_table
    if new.node_features is not None and new.node_in_table is not None:
        listed = new.node_in_table == 1
        rows, values = new_nodes[listed], new.node_features[listed]
        conflict = (present[rows] == 1) & (features[rows] != values).any(axis=1)
        if conflict.any():
            account = new.account(int(np.flatnonzero(listed)[np.argmax(conflict)]))
            raise DataError(
                f"{account!r}: the node table must give the features that the store already has (got others). "
                "Leave the row out, or ingest everything again."
            )
        features[rows], present[rows] = values, 1
    arrays.write("node_features", features)
    arrays.write("node_in_table", present)
    return {"without_table_row": int((present == 0).sum())}
