"""An open store: its counts, accounts and arrays, and ``as_of``, through which events are read."""

from __future__ import annotations

import os
import weakref
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError, StoreError
from gtea.runtime.files import try_lock
from gtea.store.integrity import bound_faults, require_bounds, require_bounds_around, require_bounds_of
from gtea.store.layout import NODE_IDS, vocabulary_name
from gtea.store.manifest import DataReport, Manifest, map_array, read_manifest
from gtea.store.strings import StringTable
from gtea.store.time_units import Instant, date_text, parse_instant
from gtea.store.view import View

_ATTEMPTS = 5


@dataclass(frozen=True)
class StoreArrays:
    """The mapped arrays, named as in docs/store-format.md. Read events through a view, not directly from here."""

    node_offset: NDArray[np.int64]
    slot_neighbour: NDArray[np.int32]
    slot_edge: NDArray[np.int64]
    slot_first_time: NDArray[np.int64]
    edge_a: NDArray[np.int32]
    edge_b: NDArray[np.int32]
    edge_offset: NDArray[np.int64]
    edge_first_time: NDArray[np.int64]
    edge_last_time: NDArray[np.int64]
    event_time: NDArray[np.int64]
    event_reverse: NDArray[np.uint8]
    event_features: NDArray[np.float32]
    event_categories: NDArray[np.int32]

    @property
    def node_stop(self) -> NDArray[np.int64]:
        """Where the slots of each node end."""
        return self.node_offset[1:]

    @property
    def edge_stop(self) -> NDArray[np.int64]:
        """Where the events of each edge end."""
        return self.edge_offset[1:]


class Store:
    """One version of a store, opened for reading. Later appends don't change it."""

    def __init__(self, path: Path, manifest: Manifest, mapped: dict[str, NDArray[Any]]) -> None:
        self.path = path
        self.manifest = manifest
        self.arrays = StoreArrays(**{name: mapped[name] for name in StoreArrays.__dataclass_fields__})
        self._mapped = mapped
        self._in_bounds = False
        self.accounts = _strings(mapped, NODE_IDS)
        self.vocabularies = tuple(_strings(mapped, vocabulary_name(i)) for i in range(len(self.categorical)))
        self.node_features = mapped.get("node_features")
        """Static features from the node table, one row per account, or None."""
        self.node_in_table = mapped.get("node_in_table")
        """Whether each account has a row in the node table (if not, its features are zeros), or None."""

    @staticmethod
    def open(path: str | os.PathLike[str]) -> Store:
        """Open the current version. Takes milliseconds for any size: only the manifest is read."""
        folder = Path(path).absolute()
        for attempt in range(_ATTEMPTS):
            manifest = read_manifest(folder)
            try:
                return _open_version(folder, manifest)
            except FileNotFoundError as error:
                # A writer may have published a newer version and deleted this one after we read the manifest.
                if attempt == _ATTEMPTS - 1 or read_manifest(folder).folder == manifest.folder:
                    raise StoreError(
                        f"{error.filename}: is missing from the store. Restore it from a backup or ingest again."
                    ) from error
        raise AssertionError("unreachable")

    def require_bounds(self) -> None:
        """Raise if an index in the arrays points outside: compiled code must not read them then. Checked once."""
        if not self._in_bounds:
            require_bounds(self._mapped, self.path)
            self._in_bounds = True

    def require_bounds_of(self, accounts: range) -> None:
        """The same for a range of accounts and no other: from now on nothing else may be read of this store."""
        if not self._in_bounds:
            require_bounds_of(self._mapped, accounts, self.path)
            self._in_bounds = True

    def require_bounds_around(self, nodes: NDArray[np.int64], whole: NDArray[np.int64]) -> None:
        """The same for some accounts, of ``whole`` with all of their events, and for where neighbours' slots are."""
        if not self._in_bounds:
            require_bounds_around(self._mapped, nodes, whole, self.path)
            self._in_bounds = True

    def bound_faults(self) -> list[str]:
        """Which offsets and indices in the arrays point outside, one line for each array."""
        return bound_faults(self._mapped)

    def with_arrays(self, changed: dict[str, NDArray[Any]], counts: dict[str, int]) -> Store:
        """The same store with some arrays and counts exchanged, in memory."""
        return Store(self.path, replace(self.manifest, counts=counts), self._mapped | changed)

    def __sklearn_clone__(self) -> Store:
        """Return the store itself. It never changes, so clones of an estimator can share it."""
        return self

    def __repr__(self) -> str:
        counts = ", ".join(f"{count:,} {name}" for name, count in self.manifest.counts.items() if name != "self_loops")
        return f"<gtea.Store {self.path.name}: {counts}>"

    @property
    def num_nodes(self) -> int:
        """Number of accounts."""
        return self.manifest.counts["nodes"]

    @property
    def num_edges(self) -> int:
        """Number of pairs that have a history (ordered pairs in a directed store)."""
        return self.manifest.counts["edges"]

    @property
    def num_events(self) -> int:
        """Number of events."""
        return self.manifest.counts["events"]

    @property
    def directed(self) -> bool:
        """Whether the two directions of a pair are separate edges."""
        return bool(self.manifest.schema["directed"])

    @property
    def unit(self) -> str:
        """The unit of stored times: s, us, ns, or step."""
        return str(self.manifest.time["unit"])

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns of ``event_features``."""
        return tuple(self.manifest.schema["columns"]["features"])

    @property
    def categorical(self) -> tuple[str, ...]:
        """The names of the columns of ``event_categories``."""
        return tuple(self.manifest.schema["columns"]["categorical"])

    @property
    def report(self) -> DataReport:
        """The data report: what happened to every row of the input."""
        return self.manifest.data_report

    @property
    def digest(self) -> str:
        """The sha256 over the content of all arrays."""
        return self.manifest.digest

    @property
    def end(self) -> int:
        """The smallest time after the last event."""
        last = self.manifest.time["last"]
        return 0 if last is None else int(last) + 1

    def as_of(self, instant: Instant | None = None) -> View:
        """A view of the store just before an instant, without the events at or after it.

        Costs nothing to make, but for the first one, which checks that the indices of the store are in bounds.

        Args:
            instant: A stored time (an int in ``unit``), a datetime, or text: ISO 8601, or a number in the unit of the
                input. None means just after the last event.
        """
        cut = self.end if instant is None else parse_instant(instant, self.unit, self.manifest.schema["time_unit"])
        return View(self, cut)

    def node(self, account: str) -> int:
        """The node number of an account."""
        number = self.accounts.find(account)
        if number < 0:
            raise DataError(
                f"{account!r}: no such account in {self.path.name}. Ids are compared exactly as written: "
                "check leading zeros, spaces and case."
            )
        return number

    def account(self, node: int) -> str:
        """The account id of a node."""
        return self.accounts[node]

    def date(self, time: int) -> str:
        """A stored time as readable text."""
        return date_text(time, self.unit)


def _open_version(folder: Path, manifest: Manifest) -> Store:
    version = folder / manifest.folder
    handle = os.open(version, os.O_RDONLY)
    try:
        # Shared with other readers. Keeps writers from deleting the version while this store is open.
        try_lock(handle, exclusive=False)
        mapped = {name: map_array(version, described) for name, described in manifest.arrays.items()}
        store = Store(folder, manifest, mapped)
    except BaseException:
        os.close(handle)
        raise
    weakref.finalize(store, os.close, handle)
    return store


def _strings(mapped: dict[str, NDArray[Any]], name: str) -> StringTable:
    return StringTable(mapped[f"{name}_offset"], mapped[f"{name}_bytes"])
