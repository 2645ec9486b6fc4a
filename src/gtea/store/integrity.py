"""Is a store what its manifest says? Digests of its files, and bounds of its offsets and indices.

Opening a store reads the manifest only. Before compiled code reads its arrays, ``require_bounds`` makes sure that no
offset and no index in them points outside of the array that it is about: compiled code does not look. That reads what
is small, offsets and indices, and takes milliseconds. ``require_digests`` reads every byte.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import StoreError
from gtea.store.layout import NODE_IDS, vocabulary_name
from gtea.store.manifest import open_array

if TYPE_CHECKING:
    from gtea.store.store import Store

_CHUNK = 1 << 22
_SLOTS = 1 << 18
_REMEDY = "Check the store with gtea verify; restore it from a backup or ingest again."


def damaged(where: Path, *faults: str) -> StoreError:
    """The error about a store in which something can't be."""
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return StoreError(f"{where}: is damaged: {faults[0]}{more}. {_REMEDY}")


def digest_faults(folder: Path, name: str, described: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the content of an array's file."""
    try:
        with open_array(folder, dict(described)) as file, os.fdopen(os.dup(file.number), "rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        yield f"{name}: the file {described['file']} is missing"
    except (StoreError, OSError) as error:
        yield f"{name}: can't be read ({error})"
    else:
        if found != described["sha256"]:
            wanted = described["sha256"]
            yield (
                f"{name}: the content of {described['file']} has changed "
                f"(sha256 {found[:12]}..., must be {wanted[:12]}...)"
            )


def require_digests(store: Store, names: Iterable[str] | None = None) -> None:
    """Raise if a byte of the store has changed since it was written. Reads its files with all cores.

    Args:
        names: The arrays to check; None checks all.
    """
    folder, arrays = store.path / store.manifest.folder, store.manifest.arrays
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(
            lambda name: list(digest_faults(folder, name, arrays[name])), arrays if names is None else names
        )
        faults = [fault for each in found for fault in each]
    if faults:
        raise damaged(store.path, *faults)


def require_bounds(arrays: Mapping[str, NDArray[Any]], where: Path) -> None:
    """Raise if an offset or an index of a store's arrays points outside.

    Args:
        arrays: The arrays by name, with the shapes of the format.
        where: The path of the store, for the message.
    """
    faults = bound_faults(arrays)
    if faults:
        raise damaged(where, *faults)


def require_bounds_of(arrays: Mapping[str, NDArray[Any]], accounts: range, where: Path) -> None:
    """The same for what is read of a range of accounts: their slots, the edges and events of these, and their ids."""
    faults = list(_faults_of(arrays, accounts))
    if faults:
        raise damaged(where, *faults)


def require_bounds_around(
    arrays: Mapping[str, NDArray[Any]], nodes: NDArray[np.int64], whole: NDArray[np.int64], where: Path
) -> None:
    """The same for what is read of some accounts, and for where the slots of their neighbours are.

    Args:
        nodes: The accounts.
        whole: Those of them of whose events more is read than the times.
    """
    faults = list(_faults_around(arrays, nodes, whole))
    if faults:
        raise damaged(where, *faults)


def bound_faults(arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    """The offsets and indices of a store's arrays that point outside, one line for each array."""
    return list(_bound_faults(arrays))


def _bound_faults(arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    num_nodes, num_edges = len(arrays["node_offset"]) - 1, len(arrays["edge_a"])
    offsets = {"node_offset": len(arrays["slot_edge"]), "edge_offset": len(arrays["event_time"])}
    tables = [NODE_IDS]
    while f"{vocabulary_name(len(tables) - 1)}_offset" in arrays:
        tables.append(vocabulary_name(len(tables) - 1))
    offsets |= {f"{table}_offset": len(arrays[f"{table}_bytes"]) for table in tables}
    for name, end in offsets.items():
        # An edge is there because it has an event. An account need not have a partner, nor a word a letter.
        if not _rises(arrays[name], end, least=int(name == "edge_offset")):
            yield f"{name} must rise from 0 to {end}"
    limits = {"slot_neighbour": num_nodes, "slot_edge": num_edges, "edge_a": num_nodes, "edge_b": num_nodes}
    for name, limit in limits.items():
        if not _within(arrays[name], limit):
            yield f"{name} must be from 0 to below {limit}"
    for column, table in enumerate(tables[1:]):
        limit = len(arrays[f"{table}_offset"]) - 1
        if not _within(arrays["event_categories"][:, column], limit):
            yield f"event_categories must be from 0 to below {limit} in column {column}"


def _faults_of(arrays: Mapping[str, NDArray[Any]], accounts: range) -> Iterator[str]:
    for name, limit in (("node_offset", "slot_edge"), (f"{NODE_IDS}_offset", f"{NODE_IDS}_bytes")):
        offset = arrays[name][accounts.start : accounts.stop + 1]
        if (np.diff(offset) < 0).any() or offset[0] < 0 or offset[-1] > len(arrays[limit]):
            yield f"{name} must rise from 0 to {len(arrays[limit])}"
            return
    first, last = (int(arrays["node_offset"][end]) for end in (accounts.start, accounts.stop))
    for start in range(first, last, _SLOTS):
        faults = list(_slot_faults(arrays, slice(start, min(start + _SLOTS, last))))
        yield from faults
        if faults:
            return


def _faults_around(
    arrays: Mapping[str, NDArray[Any]], nodes: NDArray[np.int64], whole: NDArray[np.int64]
) -> Iterator[str]:
    faults = list(_offset_faults(arrays, nodes, "node_offset", "slot_edge"))
    faults += _offset_faults(arrays, nodes, f"{NODE_IDS}_offset", f"{NODE_IDS}_bytes")
    for some, with_words in ((whole, True), (np.setdiff1d(nodes, whole), False)):
        for slots in () if faults else _slots_of(arrays, some):
            faults += _slot_faults(arrays, slots, with_words=with_words)
            if not faults:
                faults += _offset_faults(arrays, arrays["slot_neighbour"][slots], "node_offset", "slot_edge")
            if faults:
                break
    yield from faults


def _offset_faults(
    arrays: Mapping[str, NDArray[Any]], rows: NDArray[np.integer[Any]], name: str, limit: str
) -> Iterator[str]:
    """What is wrong with where some rows begin and end."""
    begin, end = arrays[name][rows], arrays[name][rows + 1]
    falls = begin >= end if name == "edge_offset" else begin > end  # an edge has events
    if len(rows) and (falls.any() or begin.min() < 0 or end.max() > len(arrays[limit])):
        yield f"{name} must rise from 0 to {len(arrays[limit])}"


def _slots_of(arrays: Mapping[str, NDArray[Any]], nodes: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """The slots of some accounts, some at a time, however many a hub has."""
    begin, count = arrays["node_offset"][nodes], arrays["node_offset"][nodes + 1] - arrays["node_offset"][nodes]
    ends = np.cumsum(count)
    for first in range(0, int(ends[-1]) if len(ends) else 0, _SLOTS):
        place = np.arange(first, min(first + _SLOTS, int(ends[-1])))
        owner = np.searchsorted(ends, place, side="right")
        yield begin[owner] + place - (ends - count)[owner]


def _slot_faults(
    arrays: Mapping[str, NDArray[Any]], slots: slice | NDArray[np.int64], *, with_words: bool = True
) -> Iterator[str]:
    """What is wrong with some slots, their edges, where their events are and, if asked for, the words of these."""
    num_nodes, num_edges = len(arrays["node_offset"]) - 1, len(arrays["edge_a"])
    edges = np.asarray(arrays["slot_edge"][slots])
    if not _within(arrays["slot_neighbour"][slots], num_nodes):
        yield f"slot_neighbour must be from 0 to below {num_nodes}"
    if not _within(edges, num_edges):
        yield f"slot_edge must be from 0 to below {num_edges}"
        return
    if not (_within(arrays["edge_a"][edges], num_nodes) and _within(arrays["edge_b"][edges], num_nodes)):
        yield f"edge_a and edge_b must be from 0 to below {num_nodes}"
    faults = list(_offset_faults(arrays, edges, "edge_offset", "event_time"))
    yield from faults
    if not faults and with_words:
        yield from _word_faults(arrays, arrays["edge_offset"][edges], arrays["edge_offset"][edges + 1])


def _word_faults(arrays: Mapping[str, NDArray[Any]], begin: NDArray[np.int64], end: NDArray[np.int64]) -> Iterator[str]:
    """Which codes of the events in some ranges are outside of their vocabularies."""
    for column in range(arrays["event_categories"].shape[1]):
        limit = len(arrays[f"{vocabulary_name(column)}_offset"]) - 1
        codes = arrays["event_categories"][:, column]
        events = np.repeat(begin - np.cumsum(end - begin) + (end - begin), end - begin) + np.arange((end - begin).sum())
        if not _within(codes[events], limit):
            yield f"event_categories must be from 0 to below {limit} in column {column}"


def _rises(offsets: NDArray[np.int64], end: int, least: int = 0) -> bool:
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != end:
        return False
    # A chunk overlaps the next one by a value, and nothing is as long as the array.
    chunks = (offsets[start : start + _CHUNK + 1] for start in range(0, len(offsets), _CHUNK))
    return all((np.diff(chunk) >= least).all() for chunk in chunks)


def _within(values: NDArray[np.integer[Any]], limit: int) -> bool:
    return len(values) == 0 or (int(values.min()) >= 0 and int(values.max()) < limit)
