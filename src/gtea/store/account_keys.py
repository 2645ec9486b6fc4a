"""Account keys: a 64-bit hash of the bytes of an account id.

A node's number is its position among all accounts of a store, so it changes when accounts are added. Random draws for
a node are therefore keyed by its id: later data can't change them, and an account that is not in any store has a key,
too. A key costs about 25 ns for a 42-character address. The probability that any two of 1.3 million accounts share a
key is 5e-8; such accounts would share their random draws and nothing else.
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
def _key_of(id_offset: NDArray[np.int64], id_bytes: NDArray[np.uint8], node: int) -> np.uint64:
    """The key of a node: the length of its id and then its bytes, eight at a time, folded together."""
    # Unsigned positions: numba need not check for negative ones, and reads eight bytes as one word.
    position, stop = np.uint64(id_offset[node]), np.uint64(id_offset[node + 1])
    key = stop - position
    while position + _WORD <= stop:
        key = fold(key, _word(id_bytes, position, _WORD))
        position += _WORD
    if position < stop:
        key = fold(key, _word(id_bytes, position, stop - position))
    return key


@jit
def _word(id_bytes: NDArray[np.uint8], position: np.uint64, size: np.uint64) -> np.uint64:
    """Up to eight bytes as one little-endian word."""
    word = np.uint64(0)
    for i in range(size):
        word |= np.uint64(id_bytes[position + i]) << (_WORD * i)
    return word


def keys_of_all(store: Store) -> NDArray[np.uint64]:
    """The keys of all accounts, in node order. Takes 8 bytes and one pass over the id for each account."""
    return keys_of_nodes(store, np.arange(store.num_nodes))


def keys_of_nodes(store: Store, nodes: NDArray[np.integer[Any]]) -> NDArray[np.uint64]:
    """The keys of some nodes."""
    store.require_bounds()
    return _keys(store.accounts.offsets, store.accounts.data, np.asarray(nodes, dtype=np.int64))


def keys_of_accounts(accounts: Sequence[str]) -> NDArray[np.uint64]:
    """The keys of some account ids, whether or not a store has them."""
    encoded = [account.encode() for account in accounts]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return _keys(offsets, np.frombuffer(b"".join(encoded), np.uint8), np.arange(len(encoded)))


@jit
def _keys(id_offset: NDArray[np.int64], id_bytes: NDArray[np.uint8], nodes: NDArray[np.int64]) -> NDArray[np.uint64]:
    keys = np.empty(len(nodes), dtype=np.uint64)
    for i in range(len(nodes)):
        keys[i] = _key_of(id_offset, id_bytes, nodes[i])
    return keys
