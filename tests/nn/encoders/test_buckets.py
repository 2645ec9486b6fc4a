"""Length buckets: every event once, padded to at most twice the length, and never too many cells."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gtea.nn.encoders import self_attention as buckets
from gtea.nn.encoders.self_attention import length_buckets


@settings(deadline=None)
@given(st.lists(st.integers(0, 70), max_size=30))
def test_every_event_once_and_little_padding(lengths: list[int]) -> None:
    offset = torch.tensor([0, *lengths]).cumsum(0)
    made = list(length_buckets(offset))
    rows = sorted(row for bucket in made for row in bucket.row[bucket.mask].tolist())
    assert rows == list(range(sum(lengths)))
    for bucket in made:
        assert bucket.mask.any(1).all()
        assert (bucket.row < sum(lengths)).all()
        longest = bucket.mask.shape[1]
        assert (bucket.mask.sum(1) * 2 > longest).all()


def test_a_history_stays_in_order() -> None:
    (bucket,) = length_buckets(torch.tensor([0, 3]))
    assert bucket.row.tolist() == [[0, 1, 2]]


def test_a_bucket_is_split_before_its_attention_grows_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "MAX_CELLS", 100)
    made = list(length_buckets(torch.arange(0, 41, 4)))
    assert [len(bucket.row) for bucket in made] == [6, 4]
