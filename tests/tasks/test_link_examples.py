"""Labelled pairs from a store: true to its events, and possible to ask about."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gtea.errors import DataError, UsageError
from gtea.store.store import Store
from gtea.tasks.link_examples import link_examples

Row = tuple[str, str, int, float]


def visits() -> list[Row]:
    rng = np.random.default_rng(0)
    return [(f"u{rng.integers(9)}", f"i{rng.integers(12)}", time, 1.0) for time in range(120)]


@pytest.mark.parametrize("directed", [False, True])
def test_labels_are_what_happened(store_of: Callable[..., Store], directed: bool) -> None:
    rows = [*visits(), ("u0", "new", 100, 1.0), ("i3", "u1", 101, 1.0)]
    store = store_of(rows, directed=directed)
    for seed in range(5):
        pairs, y = link_examples(store, as_of=60, until=110, seed=seed)
        before = {end for src, dst, time, _ in rows if time < 60 for end in (src, dst)}
        after = {(src, dst) for src, dst, time, _ in rows if 60 <= time < 110}
        both = after if directed else after | {(dst, src) for src, dst in after}
        assert set(pairs.ravel()) <= before
        assert [int(tuple(pair) in both) for pair in pairs] == y.tolist()
        assert len({tuple(pair) for pair in pairs}) == len(pairs)
        assert y.sum() == len({(s, d) for s, d, t, _ in rows if 60 <= t < 110 and {s, d} <= before})
        assert 0 < (y == 0).sum() <= y.sum()


def test_the_same_seed_draws_the_same_pairs(store_of: Callable[..., Store]) -> None:
    store = store_of(visits())
    one, again, other = (link_examples(store, as_of="60", seed=seed)[0].tolist() for seed in (0, 0, 1))
    assert one == again
    assert one != other


def test_windows_that_are_refused(store_of: Callable[..., Store]) -> None:
    store = store_of(visits())
    with pytest.raises(UsageError, match=r"until: must be after as_of \(got 60, and 60 for as_of\)"):
        link_examples(store, as_of=60, until=60)
    with pytest.raises(DataError, match=r"between accounts with earlier events \(got none\)"):
        link_examples(store, as_of=0)
