"""Positions, counted from the end."""

from __future__ import annotations

import torch

from gtea.nn.encoders.transformer import encode_positions, positions_from_end


def test_the_last_event_is_at_zero() -> None:
    offset = torch.tensor([0, 3, 4])
    assert positions_from_end(offset, torch.tensor([0, 0, 0, 1])).tolist() == [2, 1, 0, 0]


def test_sines_and_cosines_side_by_side() -> None:
    encoded = encode_positions(torch.tensor([0, 1]), 4, torch.float64)
    assert encoded[0].tolist() == [0, 1, 0, 1]
    expected = torch.tensor([1.0, 1.0, 0.01, 0.01], dtype=torch.float64)
    torch.testing.assert_close(encoded[1, ::2], expected[::2].sin())
    torch.testing.assert_close(encoded[1, 1::2], expected[1::2].cos())


def test_odd_sizes_work() -> None:
    assert encode_positions(torch.arange(5), 7, torch.float32).shape == (5, 7)
