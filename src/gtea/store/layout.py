"""The arrays of a store and their types: docs/store-format.md in code.

Two levels of compressed rows, nothing padded:

    node n   -> slots  node_offset[n] : node_offset[n + 1], ordered by the edge's first event
    slot s   -> the other end, the edge, the time of the edge's first event
    edge e   -> its ends a and b, its first and last time, events edge_offset[e] : edge_offset[e + 1] in time order
    event k  -> time, reverse (0: a paid b, 1: b paid a), features

An edge's events are stored once; both of its ends have a slot for it.
"""

from __future__ import annotations

FORMAT_NAME = "gtea-store"
FORMAT_VERSION = 1

EDGE_ARRAYS = {
    "edge_a": "<i4",
    "edge_b": "<i4",
    "edge_offset": "<i8",
    "edge_first_time": "<i8",
    "edge_last_time": "<i8",
}
EVENT_ARRAYS = {
    "event_time": "<i8",
    "event_reverse": "|u1",
    "event_features": "<f4",
    "event_categories": "<i4",
}
SLOT_ARRAYS = {
    "node_offset": "<i8",
    "slot_neighbour": "<i4",
    "slot_edge": "<i8",
    "slot_first_time": "<i8",
}
NODE_ARRAYS = {
    "node_features": "<f4",
    "node_in_table": "|u1",
}
STRING_TABLE = {"_offset": "<i8", "_bytes": "|u1"}
"""A table of strings is two arrays: where each string begins, and all their UTF-8 bytes in a row."""
DTYPES = {**EDGE_ARRAYS, **EVENT_ARRAYS, **SLOT_ARRAYS, **NODE_ARRAYS}

MAX_NODES = 2**31 - 1


NODE_IDS = "node_id"
"""The string table of the account ids; a node's number is its place in it."""


def vocabulary_name(number: int) -> str:
    """The string table of the categorical column of that number."""
    return f"vocabulary_{number}"
