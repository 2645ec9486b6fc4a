"""The arrays of a store and their dtypes, as specified in docs/store-format.md.

Two levels of compressed sparse rows, without padding:

    node n   -> slots  node_offset[n] : node_offset[n + 1], ordered by the edge's first event
    slot s   -> the neighbour, the edge, the time of the edge's first event
    edge e   -> its ends a and b, its first and last time, events edge_offset[e] : edge_offset[e + 1] in time order
    event k  -> time, reverse (0: a paid b, 1: b paid a), features

An edge's events are stored once. Each of its two ends has a slot for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

FORMAT_NAME = "gtea-store"
FORMAT_VERSION = 2
READABLE_VERSIONS = (1, FORMAT_VERSION)

_EDGE_ARRAYS = {
    "edge_a": "<i4",
    "edge_b": "<i4",
    "edge_offset": "<i8",
    "edge_first_time": "<i8",
    "edge_last_time": "<i8",
}
_EVENT_ARRAYS = {
    "event_time": "<i8",
    "event_reverse": "|u1",
    "event_features": "<f4",
    "event_categories": "<i4",
}
_SLOT_ARRAYS = {
    "node_offset": "<i8",
    "slot_neighbour": "<i4",
    "slot_edge": "<i8",
    "slot_first_time": "<i8",
}
_NODE_ARRAYS = {
    "node_features": "<f4",
    "node_in_table": "|u1",
}
STRING_TABLE = {"_offset": "<i8", "_bytes": "|u1"}
"""A string table is two arrays: the offset of each string, and the concatenated UTF-8 bytes."""
DTYPES = {**_EDGE_ARRAYS, **_EVENT_ARRAYS, **_SLOT_ARRAYS, **_NODE_ARRAYS}

MAX_NODES = 2**31 - 1


NODE_IDS = "node_id"
"""The string table of the account ids. A node's number is its position in it."""


def vocabulary_name(number: int) -> str:
    """The name of the string table of a categorical column, given by its index."""
    return f"vocabulary_{number}"


def array_dtypes(string_tables: Sequence[str], *, with_nodes: bool) -> dict[str, str]:
    """The dtype of every array of a store.

    Args:
        string_tables: The names of the string tables.
        with_nodes: Whether the store has a node table.
    """
    strings = {f"{table}{part}": dtype for table in string_tables for part, dtype in STRING_TABLE.items()}
    return {**_EDGE_ARRAYS, **_EVENT_ARRAYS, **_SLOT_ARRAYS, **strings, **(_NODE_ARRAYS if with_nodes else {})}


def array_shapes(
    counts: Mapping[str, int], given: Mapping[str, Sequence[int]], widths: Mapping[str, int]
) -> dict[str, tuple[int, ...]]:
    """The shape that each array must have.

    What the counts do not say is taken from the arrays themselves: the number of slots from ``slot_edge``, and the
    lengths of strings and vocabularies from their own arrays.

    Args:
        counts: The numbers of nodes, edges and events.
        given: The shape that each array is said to have.
        widths: The number of columns of the arrays that have columns.
    """
    nodes, edges, events = (counts[name] for name in ("nodes", "edges", "events"))
    slots = _length(given["slot_edge"])
    rows = {
        **dict.fromkeys(_EDGE_ARRAYS, edges),
        "edge_offset": edges + 1,
        **dict.fromkeys(_EVENT_ARRAYS, events),
        **dict.fromkeys(_SLOT_ARRAYS, slots),
        "node_offset": nodes + 1,
        **dict.fromkeys(_NODE_ARRAYS, nodes),
        f"{NODE_IDS}_offset": nodes + 1,
    }
    shapes = {name: (rows.get(name, _length(shape)),) for name, shape in given.items()}
    return shapes | {name: (*shapes[name], width) for name, width in widths.items() if name in shapes}


def _length(shape: Sequence[int]) -> int:
    return shape[0] if len(shape) == 1 else 0
