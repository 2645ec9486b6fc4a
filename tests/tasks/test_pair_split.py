"""Parts of labelled pairs: shares of both classes, both orders of a pair together, nobody who isn't there yet."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import numpy as np
import pytest

from gtea.errors import UsageError
from gtea.store.store import Store
from gtea.tasks.pair_split import split_pairs
from gtea.tasks.pairs import Pairs, pairs_from_arrays

NAMES = [f"a{i}" for i in range(12)]


def all_pairs(store: Store) -> Pairs:
    """Every ordered pair of twelve accounts; a pair is a link if the sum of the two is divisible by four."""
    ends = np.array([(store.node(a), store.node(b)) for a, b in itertools.permutations(NAMES, 2)])
    targets = np.array([int((int(a[1:]) + int(b[1:])) % 4 == 0) for a, b in itertools.permutations(NAMES, 2)])
    return pairs_from_arrays(ends[:, 0], ends[:, 1], targets, ("0", "1"), store, "y", np.ones(len(ends)))


def test_each_class_gives_its_share_and_both_orders_stay_together(store_of: Callable[..., Store]) -> None:
    store = store_of([(a, "hub", time, 1.0) for time, a in enumerate(NAMES)])
    pairs = all_pairs(store)
    split = split_pairs(pairs, store, fraction=0.25)
    assert split.validation.classes == {name: round(count / 4) for name, count in pairs.report["classes"].items()}
    train, validation = (
        {frozenset(ends) for ends in zip(pairs.src[part.index], pairs.dst[part.index], strict=True)}
        for part in (split.train, split.validation)
    )
    # One pair of a class may lie on the boundary, where the share is an odd number.
    assert len(train & validation) <= 2
    described = split.describe()
    assert json.loads(json.dumps(described)) == described
    other = split_pairs(pairs, store, fraction=0.25, seed=1)
    assert set(other.validation.index) != set(split.validation.index)


def test_accounts_that_come_later_move_nothing_and_do_not_train(store_of: Callable[..., Store]) -> None:
    rows = [(a, "hub", time, 1.0) for time, a in enumerate(NAMES)]
    one, two = store_of(rows), store_of([*rows, *((f"a{i}b", "b", 50 + i, 1.0) for i in range(9))])
    parts = []
    for store in (one, two):
        pairs = all_pairs(store)
        split = split_pairs(pairs, store, as_of=10)
        assert split.left_out == {"account_has_no_event_yet": 12 * 11 - 10 * 9}
        src, dst = pairs.src[split.validation.index], pairs.dst[split.validation.index]
        parts.append([(store.account(a), store.account(b)) for a, b in zip(src, dst, strict=True)])
    assert parts[0] == parts[1]


def test_a_share_that_can_not_be(store_of: Callable[..., Store]) -> None:
    store = store_of([(a, "hub", time, 1.0) for time, a in enumerate(NAMES)])
    with pytest.raises(UsageError, match="validation_fraction: must be above 0 and below 1"):
        split_pairs(all_pairs(store), store, fraction=0.0)
