"""Soft bins: they fill up one after the other, and a linear map of them bends anywhere."""

from __future__ import annotations

import torch
from tests.nn.examples import seeded

from gtea.nn.heads import NUM_BINS, SoftBins


def test_bins_fill_up_one_after_the_other() -> None:
    module = SoftBins(1, NUM_BINS, seeded()).double()
    with torch.no_grad():
        module.into.weight.copy_(torch.eye(NUM_BINS))
        module.into.bias.zero_()
    third = 2.25 / NUM_BINS
    filled = module(torch.tensor([[0.0], [third], [1.0]], dtype=torch.float64))
    assert filled[0].tolist() == [0] * NUM_BINS
    torch.testing.assert_close(filled[1, :4], torch.tensor([1, 1, 0.25, 0], dtype=torch.float64))
    assert filled[2].tolist() == [1] * NUM_BINS


def test_columns_have_bins_of_their_own() -> None:
    module = SoftBins(3, 5, seeded())
    plain = torch.zeros(1, 3)
    for column in range(3):
        other = plain.clone()
        other[0, column] = 0.4
        assert bool((module(other) != module(plain)).any())
    assert module(torch.rand(7, 3)).shape == (7, 5)
    assert module(torch.zeros(0, 3)).shape == (0, 5)


def test_it_can_learn_a_step_where_a_line_cannot() -> None:
    ranks = torch.linspace(0, 1, 201)[:, None]
    wanted = ((ranks > 0.4) & (ranks < 0.6)).float()
    module = SoftBins(1, 1, seeded())
    optimiser = torch.optim.Adam(module.parameters(), lr=0.1)
    for _ in range(300):
        optimiser.zero_grad()
        loss = torch.nn.functional.mse_loss(module(ranks), wanted)
        loss.backward()
        optimiser.step()
    line = torch.linalg.lstsq(torch.cat([ranks, torch.ones_like(ranks)], 1), wanted).solution
    straight = torch.nn.functional.mse_loss(torch.cat([ranks, torch.ones_like(ranks)], 1) @ line, wanted)
    assert loss.item() < 0.2 * straight.item()
