"""Self-attention: asking for the last event only is the last row of asking for all."""

from __future__ import annotations

import pytest
import torch
from tests.nn.examples import histories_of, seeded

from gtea.nn.batch import Histories
from gtea.nn.encoders import self_attention as buckets
from gtea.nn.encoders.self_attention import SelfAttention
from gtea.nn.segments import segment_ids

LENGTHS = [1, 7, 2, 33, 4, 1, 64, 65]


def edges_of(histories: Histories) -> torch.Tensor:
    return segment_ids(histories.offset, histories.num_events)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_last_event_alone_gets_the_same_answer(dtype: torch.dtype) -> None:
    attention = SelfAttention(8, 4, seeded()).to(dtype)
    histories = histories_of(LENGTHS, 8, dtype=dtype)
    everyone = attention(histories.features, histories.offset)
    last = attention.last_row(histories.features, histories.offset, edges_of(histories))
    torch.testing.assert_close(last, everyone[histories.offset[1:] - 1], atol=1e-6, rtol=1e-5)


def test_splitting_a_bucket_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    attention = SelfAttention(8, 2, seeded()).double()
    histories = histories_of([3] * 9 + LENGTHS, 8)
    whole = attention(histories.features, histories.offset)
    monkeypatch.setattr(buckets, "MAX_CELLS", 32)
    torch.testing.assert_close(attention(histories.features, histories.offset), whole, atol=1e-12, rtol=0)


def test_heads_are_averaged_not_joined() -> None:
    """With one head's values at zero, the rest is worth three quarters."""
    attention = SelfAttention(8, 4, seeded()).double()
    histories = histories_of([4], 8)
    with torch.no_grad():
        attention.w_v[1:] = attention.w_v[0]
        attention.w_q.zero_()
        whole = attention(histories.features, histories.offset)
        attention.w_v[3] = 0
        torch.testing.assert_close(attention(histories.features, histories.offset), whole * 3 / 4)


def test_large_logits_stay_finite() -> None:
    attention = SelfAttention(8, 4, seeded())
    histories = histories_of([5, 1], 8, dtype=torch.float32)
    e = (histories.features * 1e3).requires_grad_()
    attention.last_row(e, histories.offset, edges_of(histories)).sum().backward()
    assert e.grad is not None
    assert e.grad.isfinite().all()
