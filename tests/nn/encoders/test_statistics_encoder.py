"""Mean, min, max and std by hand."""

from __future__ import annotations

import torch

from gtea.nn.encoders.statistics_encoder import StatisticsEncoder


def test_the_four_statistics_in_this_order() -> None:
    events = torch.tensor([[1.0, -2.0], [3.0, -4.0]])
    result = StatisticsEncoder(2)(events, torch.tensor([0, 2]))
    assert result.tolist() == [[2, -3, 1, -4, 3, -2, 1, 1]]


def test_a_single_event_has_no_spread_and_a_finite_gradient() -> None:
    event = torch.tensor([[5.0]], requires_grad=True)
    result = StatisticsEncoder(1)(event, torch.tensor([0, 1]))
    assert result.tolist() == [[5, 5, 5, 0]]
    result.sum().backward()
    assert event.grad is not None
    assert event.grad.tolist() == [[3]]


def test_large_amounts_that_differ_little_keep_their_spread() -> None:
    events = torch.tensor([[1e6], [1e6 + 1], [1e6 + 2]])
    std = StatisticsEncoder(1)(events, torch.tensor([0, 3]))[0, 3]
    torch.testing.assert_close(std, torch.tensor((2 / 3) ** 0.5))


def test_nothing_is_learnt() -> None:
    assert not list(StatisticsEncoder(3).parameters())
