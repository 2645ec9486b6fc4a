"""A store without some of its events, in memory: what would be there, had they never happened.

Every array is what ``ingest`` would write for the rows that are left, but accounts keep their numbers: an account that
loses all its events is still there, without neighbours. The store itself does not change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.store.store import Store, StoreArrays
from gtea.store.view import View

_EVENT_ARRAYS = ("event_time", "event_reverse", "event_features", "event_categories")


def without_events(store: Store, events: NDArray[np.integer[Any]]) -> Store:
    """The store without these events, given as rows of its event arrays. It costs a copy of all of them."""
    arrays = store.arrays
    left = np.ones(len(arrays.event_time), dtype=bool)
    left[events] = False
    offset = np.concatenate([[0], np.cumsum(left)])[arrays.edge_offset]
    edges = np.flatnonzero(np.diff(offset))
    made: dict[str, NDArray[Any]] = {name: getattr(arrays, name)[left] for name in _EVENT_ARRAYS}
    made |= {"edge_a": arrays.edge_a[edges], "edge_b": arrays.edge_b[edges]}
    made["edge_offset"] = np.append(offset[edges], offset[-1])
    made["edge_first_time"] = made["event_time"][made["edge_offset"][:-1]]
    made["edge_last_time"] = made["event_time"][made["edge_offset"][1:] - 1]
    made |= _slots(arrays, edges, made["edge_first_time"])
    for array in made.values():
        array.flags.writeable = False  # as if mapped
    counts = {**store.manifest.counts, "edges": len(edges), "events": len(made["event_time"])}
    return store.with_arrays(made, counts)


def events_between(view: View, node: int, other: int) -> NDArray[np.int64]:
    """The rows of all events between two accounts before the cut, in both directions."""
    neighbours = view.neighbours(node)
    ranges = zip(*view.event_ranges(neighbours.edges[neighbours.nodes == other]), strict=True)
    return np.concatenate([np.empty(0, dtype=np.int64), *(np.arange(start, stop) for start, stop in ranges)])


def _slots(arrays: StoreArrays, edges: NDArray[np.int64], first_time: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """The slots of the edges that are left, in the order of their first events."""
    number = np.full(len(arrays.edge_a), -1, dtype=np.int64)
    number[edges] = np.arange(len(edges))
    node = np.repeat(np.arange(len(arrays.node_offset) - 1), np.diff(arrays.node_offset))
    edge = number[arrays.slot_edge]
    kept = np.flatnonzero(edge >= 0)
    order = kept[np.lexsort((edge[kept], first_time[edge[kept]], node[kept]))]
    degrees = np.bincount(node[order], minlength=len(arrays.node_offset) - 1)
    return {
        "node_offset": np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64),
        "slot_neighbour": arrays.slot_neighbour[order],
        "slot_edge": edge[order],
        "slot_first_time": first_time[edge[order]],
    }
