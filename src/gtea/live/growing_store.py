"""A store in memory to which events are added. Features and histories read it as they read a store on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError
from gtea.live.event_rows import ReadEvents
from gtea.live.growing_array import GrowingArray
from gtea.live.growing_graph import Added, GrowingGraph, NewEvents
from gtea.live.growing_strings import GrowingStrings
from gtea.runtime.json_shape import misshapen, strict_json
from gtea.store.graph import Graph
from gtea.store.store import Store, StoreArrays
from gtea.store.time_units import unit_ratio

_UNITS = ("s", "us", "ns", "step")


@dataclass(frozen=True)
class _GrowingArrays(StoreArrays):
    """The arrays of a growing graph: there may be room between two nodes, and between two edges."""

    node_end: NDArray[np.int64]
    edge_end: NDArray[np.int64]

    @property
    def node_stop(self) -> NDArray[np.int64]:
        """Where the slots of each node end."""
        return self.node_end

    @property
    def edge_stop(self) -> NDArray[np.int64]:
        """Where the events of each edge end."""
        return self.edge_end


class GrowingStore(Store):
    """A store and the events that came after it was opened. Accounts and words keep their numbers."""

    def __init__(self, store: Store, saved: Mapping[str, NDArray[Any]] | None = None) -> None:
        """Copy a store into memory.

        Args:
            saved: What ``saved_arrays`` gave of a copy of this store, with later events.
        """
        store.require_bounds()
        super().__init__(store.path, store.manifest, store._mapped)
        self._in_bounds = True
        self._growing = GrowingGraph(store.arrays, saved, directed=store.directed)
        self._ids = GrowingStrings(store.accounts, _texts(saved, "ids"))
        tables = enumerate(store.vocabularies)
        self._words = tuple(GrowingStrings(table, _texts(saved, f"words_{i}")) for i, table in tables)
        self.accounts, self.vocabularies = self._ids, self._words
        self._growing.require_bounds([len(words) for words in self._words])
        given, present = store.node_features, store.node_in_table
        self._given = None if given is None else GrowingArray(np.asarray(given))
        self._present = None if present is None else GrowingArray(np.asarray(present))
        if len(self._ids) != self._growing.num_nodes:
            raise ValueError("it has other accounts")
        self._newest: int | None = store.manifest.time["last"]
        if saved:
            time = saved["time"]
            fits = time.dtype == np.int64 and time.shape in ((1,), (2,)) and 0 <= time[0] < len(_UNITS)
            if not fits:
                raise ValueError("its time is damaged")
            unit, self._newest = _UNITS[time[0]], int(time[1]) if len(time) == 2 else None
            self.manifest = replace(self.manifest, time={**self.manifest.time, "unit": unit})
        for array in (self._given, self._present):
            if array is not None:
                array.grow(len(self._ids))
        self._renew()

    @property
    def num_nodes(self) -> int:
        """Number of accounts."""
        return len(self._ids)

    @property
    def end(self) -> int:
        """The smallest time after the last event."""
        return 0 if self._newest is None else self._newest + 1

    @property
    def num_bytes(self) -> int:
        """What the events, the accounts and the graph take in memory."""
        tables = sum(table.num_bytes for table in (self._ids, *self._words))
        given = sum(array.num_bytes for array in (self._given, self._present) if array is not None)
        return self._growing.num_bytes + tables + given

    @property
    def rank(self) -> NDArray[np.int64]:
        """The place of each account in the canonical order."""
        return self._ids.rank

    @property
    def tables(self) -> tuple[GrowingStrings, ...]:
        """The accounts, and the words of each categorical column."""
        return (self._ids, *self._words)

    def graph(self) -> Graph:
        """The graph with all its events, for compiled code. To be asked for again when events have been added."""
        return self._graph

    def numbered(self, rows: ReadEvents) -> NewEvents:
        """Events, in the unit of the store, with the numbers of their accounts and words; new ones are added."""
        src, dst = (np.fromiter(map(self._ids.add, ids), np.int64, len(ids)) for ids in (rows.src, rows.dst))
        codes = np.empty((len(rows.src), len(self._words)), dtype=np.int32)
        for column, (table, words) in enumerate(zip(self._words, rows.words, strict=True)):
            codes[:, column] = np.fromiter(map(table.add, words), np.int32, len(words))
        self._growing.add_nodes(len(self._ids))
        for array in (self._given, self._present):
            if array is not None:
                array.grow(len(self._ids))
        return NewEvents(src, dst, rows.time, rows.features, codes)

    def add(self, events: NewEvents) -> Added:
        """Add numbered events."""
        added = self._growing.add(events, self._ids.rank)
        if len(events.time):
            newest = int(events.time.max())
            self._newest = newest if self._newest is None else max(self._newest, newest)
        self._renew()
        return added

    def require_unit(self, unit: str) -> None:
        """Raise if the times of this store don't fit into 64 bits in a finer unit."""
        times, scale = [*map(self.manifest.time.get, ("first", "last")), self._newest], unit_ratio(self.unit, unit)
        far = [time for time in times if time is not None and not -(2**63) <= time * scale < 2**63 - 1]
        if far:
            raise DataError(
                f"times: those of the store must fit into 64 bits in {unit!r} (got {self.date(far[0])}). "
                "Round the times of new events to a coarser unit."
            )

    def refine(self, unit: str) -> None:
        """Count times in a finer unit."""
        scale = unit_ratio(self.unit, unit)
        self._growing.rescale(scale)
        self._newest = None if self._newest is None else self._newest * scale
        self.manifest = replace(self.manifest, time={**self.manifest.time, "unit": unit})
        self._renew()

    def saved_arrays(self) -> dict[str, NDArray[Any]]:
        """All that has to be saved to make this store again of the one on disk."""
        tables = {"ids": self._ids} | {f"words_{i}": table for i, table in enumerate(self._words)}
        found = {name: np.frombuffer(json.dumps(table.added).encode(), np.uint8) for name, table in tables.items()}
        time = np.array([_UNITS.index(self.unit), *([] if self._newest is None else [self._newest])])
        return self._growing.arrays() | found | {"time": time}

    def _renew(self) -> None:
        """Point to the arrays as they are now."""
        self._graph = self._growing.graph(self.end)
        graph = self._graph._asdict()
        names = StoreArrays.__dataclass_fields__
        self.arrays = _GrowingArrays(
            **{name: graph[name] for name in names}, node_end=graph["node_stop"], edge_end=graph["edge_stop"]
        )
        if self._given is not None and self._present is not None:
            self.node_features, self.node_in_table = self._given.sealed, self._present.sealed


def _texts(saved: Mapping[str, NDArray[Any]] | None, name: str) -> list[str]:
    if saved is None:
        return []
    texts = strict_json(saved[name].tobytes())
    fault = misshapen(texts, [str], name)
    if fault is not None:
        raise ValueError(fault)
    return list(texts)
