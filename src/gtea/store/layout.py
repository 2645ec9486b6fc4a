"""The arrays of a store and their dtypes, as specified in docs/store-format.md.

Two levels of compressed sparse rows, without padding:

    node n   -> slots  node_offset[n] : node_offset[n + 1], ordered by the edge's first event
    slot s   -> the neighbour, the edge, the time of the edge's first event
    edge e   -> its ends a and b, its first and last time, events edge_offset[e] : edge_offset[e + 1] in time order
    event k  -> time, reverse (0: a paid b, 1: b paid a), features

An edge's events are stored once. Each of its two ends has a slot for it.
"""

from __future__ import annotations

FORMAT_NAME = "gtea-store"
FORMAT_VERSION = 1

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
