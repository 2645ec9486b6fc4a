"""The rival: it learns what statistics can tell, and sees nothing at or after the cut."""

from __future__ import annotations

import numpy as np

from gtea.baselines.tree import TreeBaseline
from gtea.store.memory import store_in_memory


def test_the_tree_tells_big_payers_from_small_ones() -> None:
    chance = np.random.default_rng(0)
    big = np.arange(200) % 2
    src = [f"n{i}" for i in range(200) for _ in range(5)]
    amounts = np.repeat(1 + 99 * big, 5) * chance.uniform(0.5, 1.5, 1000)
    store = store_in_memory(src, ["shop"] * 1000, np.arange(1000), features={"amount": amounts})
    nodes = store.accounts.find_many([f"n{i}" for i in range(200)])
    view = store.as_of()
    tree = TreeBaseline().fit(view, nodes[:120], big[:120])
    rows = tree.probabilities(view, nodes[120:])
    assert rows.shape == (80, 2)
    assert (rows.argmax(axis=1) == big[120:]).mean() > 0.95
    assert np.allclose(rows.sum(axis=1), 1)
    empty = store.as_of(0)
    assert len(np.unique(tree.probabilities(empty, nodes[120:]), axis=0)) == 1
