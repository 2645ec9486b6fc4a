"""Pairs to score, with and without answers."""

from __future__ import annotations

import pyarrow as pa
import pytest

from gtea.errors import DataError, UsageError
from gtea.store.store import Store
from gtea.tasks.pairs import read_pairs


def test_pairs_keep_their_order_and_direction(shop: Store) -> None:
    frame = pa.table({"src": ["a5", "a1", "a5", "a2"], "dst": ["a1", "a5", "a1", "a3"]})
    pairs = read_pairs(frame, shop)
    names = [(shop.account(int(u)), shop.account(int(v))) for u, v in zip(pairs.src, pairs.dst, strict=True)]
    assert names == [("a5", "a1"), ("a1", "a5"), ("a2", "a3")]
    assert pairs.targets is None
    assert pairs.report["repeated_rows"] == 1


def test_pairs_with_labels(shop: Store) -> None:
    frame = pa.table({"u": ["a1", "a2", "zz"], "v": ["a3", "a4", "a1"], "label": [1, 0, 2]})
    pairs = read_pairs(frame, shop, src="u", dst="v", unknown="skip")
    assert pairs.classes == ("0", "1")
    assert pairs.targets is not None
    assert pairs.targets.tolist() == [1, 0]
    assert pairs.report["unknown"] == {"accounts": 1, "rows": 1, "first": ["zz"]}


def test_pairs_that_can_not_be(shop: Store) -> None:
    with pytest.raises(DataError, match=r"got 2 that are not: 'yy', 'zz'\)"):
        read_pairs(pa.table({"src": ["a1", "zz"], "dst": ["yy", "a1"]}), shop)
    with pytest.raises(DataError, match=r"a pair may have one label \(got 1 with rows that disagree: 'a1' to 'a2'\)"):
        read_pairs(pa.table({"src": ["a1", "a1"], "dst": ["a2", "a2"], "label": ["x", "y"]}), shop)
    with pytest.raises(DataError, match="must name at least one pair"):
        read_pairs(pa.table({"src": ["zz"], "dst": ["a1"]}), shop, unknown="skip")
    with pytest.raises(UsageError, match="has no column 'dst'"):
        read_pairs(pa.table({"src": ["a1"], "to": ["a2"]}), shop)
