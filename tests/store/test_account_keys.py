from __future__ import annotations

import numpy as np

from gtea.store.account_keys import keys_of_accounts, keys_of_all, keys_of_nodes
from gtea.store.memory import store_in_memory

ACCOUNTS = ["", "a", "b", "ab", "abcdefgh", "abcdefghi", "ÄÖ", "0x" + "f" * 40]


def test_the_key_is_the_ids_and_not_the_numbers() -> None:
    store = store_in_memory(ACCOUNTS, ACCOUNTS[1:] + ACCOUNTS[:1], range(len(ACCOUNTS)))
    keys = dict(zip(ACCOUNTS, keys_of_accounts(ACCOUNTS).tolist(), strict=True))
    numbers = np.arange(store.num_nodes)
    assert keys_of_nodes(store, numbers).tolist() == [keys[store.account(int(i))] for i in numbers]
    assert keys_of_all(store).tolist() == keys_of_nodes(store, numbers).tolist()


def test_keys_are_pinned() -> None:
    assert keys_of_accounts(["", "alice", "0x00000000219ab540356cbb839cbe05303d7705fa"]).tolist() == [
        0,
        8737601859919835812,
        10528344637111216321,
    ]


def test_keys_of_neighbouring_ids_have_nothing_in_common() -> None:
    keys = keys_of_accounts([str(i) for i in range(10_000)] + [f"{i:010d}" for i in range(10_000)])
    assert len(np.unique(keys)) == len(keys)
    ones = np.unpackbits(keys.view(np.uint8)).reshape(len(keys), 64).mean(axis=0)
    assert (abs(ones - 0.5) < 0.02).all()
