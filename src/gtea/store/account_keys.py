"""Who an account is: 64 bits from the bytes of its id.

A node's number is its place among all accounts of a store, and so it moves when accounts are added later. Whatever is
drawn at random for a node is therefore keyed by its id: the future can't change it, and an account that no store has
seen yet has a key, too. A key costs about 25 ns for a 42-character address. Two of 1.3 million accounts share one
with probability 5e-8, and would only share their draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit
from gtea.runtime.rng import fold
from gtea.store.store import Store

_WORD = np.uint64(8)


@jit
def key_of(id_offset: NDArray[np.int64], id_bytes: NDArray[np.uint8], node: int) -> np.uint64:
    """The key of the account of that number: its length, then its bytes, eight at a time, folded."""
    # Unsigned places: numba need not look for negative ones, and reads eight bytes as one word.
    place, stop = np.uint64(id_offset[node]), np.uint64(id_offset[node + 1])
    key = stop - place
    while place + _WORD <= stop:
        key = fold(key, _word(id_bytes, place, _WORD))
        place += _WORD
    if place < stop:
        key = fold(key, _word(id_bytes, place, stop - place))
    return key


@jit
def _word(id_bytes: NDArray[np.uint8], place: np.uint64, size: np.uint64) -> np.uint64:
    """Up to eight bytes as one number, the first the lowest."""
    word = np.uint64(0)
    for i in range(size):
        word |= np.uint64(id_bytes[place + i]) << (_WORD * i)
    return word


def keys_of_all(store: Store) -> NDArray[np.uint64]:
    """The keys of all accounts, in the order of their numbers: 8 bytes and one look at the id for each."""
    return keys_of_nodes(store, np.arange(store.num_nodes))


def keys_of_nodes(store: Store, nodes: NDArray[np.integer[Any]]) -> NDArray[np.uint64]:
    """The keys of accounts by their numbers."""
    return _keys(store.accounts.offsets, store.accounts.data, np.asarray(nodes, dtype=np.int64))


def keys_of_accounts(accounts: Sequence[str]) -> NDArray[np.uint64]:
    """The keys of accounts by their ids, whether or not a store knows them."""
    encoded = [account.encode() for account in accounts]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return _keys(offsets, np.frombuffer(b"".join(encoded), np.uint8), np.arange(len(encoded)))


@jit
def _keys(id_offset: NDArray[np.int64], id_bytes: NDArray[np.uint8], nodes: NDArray[np.int64]) -> NDArray[np.uint64]:
    keys = np.empty(len(nodes), dtype=np.uint64)
    for i in range(len(nodes)):
        keys[i] = key_of(id_offset, id_bytes, nodes[i])
    return keys
