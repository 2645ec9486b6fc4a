"""The Transformer encoder: truncation, positions, and what a row of the last event costs."""

from __future__ import annotations

import torch
from tests.nn.allocation import largest_tensor
from tests.nn.examples import histories_of, seeded

from gtea.nn.encoders.transformer import TransformerEncoder


def test_the_order_of_earlier_events_counts() -> None:
    encoder = TransformerEncoder(2, 8, 1, 4, seeded()).double()
    histories = histories_of([5])
    swapped = histories.features[[1, 0, 2, 3, 4]]
    assert not torch.allclose(encoder(histories.features, histories.offset), encoder(swapped, histories.offset))


def test_one_layer_never_makes_a_square_of_events() -> None:
    """One history of 3,000 events: a square would have nine million entries."""
    histories = histories_of([3000], dtype=torch.float32)
    encoder = TransformerEncoder(2, 8, 1, 4, seeded())
    assert largest_tensor(lambda: encoder(histories.features, histories.offset)) <= 3000 * 4 * 8


def test_a_truncated_history_is_read_as_the_end_of_the_full_one() -> None:
    """Positions count from the end: with values that ignore the oldest events, dropping these changes nothing."""
    encoder = TransformerEncoder(2, 8, 1, 4, seeded()).double()
    histories = histories_of([6])
    with torch.no_grad():
        encoder.top.w_q.zero_()
        full = encoder(histories.features, histories.offset)
        kept = encoder(histories.features[2:], torch.tensor([0, 4]))
        dropped = encoder.into(histories.features[:2]) + _positions(encoder, [5, 4])
        values = dropped.sum(0) @ encoder.top.w_v.mean(0)
    torch.testing.assert_close(full * 6, kept * 4 + values)


def _positions(encoder: TransformerEncoder, position: list[int]) -> torch.Tensor:
    from gtea.nn.encoders.transformer import encode_positions

    return encode_positions(torch.tensor(position), encoder.d_edge, torch.float64)
