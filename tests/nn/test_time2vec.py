"""Time2Vec: where it starts, how precise it is, and how fast it turns."""

from __future__ import annotations

import math

import torch
from tests.nn.examples import seeded

from gtea.nn.time2vec import Time2Vec

MINUTE = 1 / 1440


def test_periods_start_log_spaced_from_the_shortest_to_the_longest() -> None:
    module = Time2Vec(5, 0.5, 500.0, seeded())
    periods = 2 * math.pi / (module.omega[1:] / 500.0)
    torch.testing.assert_close(periods.detach(), torch.tensor([500.0, 50.0, 5.0, 0.5]))


def test_the_linear_part_goes_from_zero_to_one() -> None:
    tau = Time2Vec(4, 1.0, 200.0, seeded())(torch.tensor([0.0, 50.0, 200.0]))
    assert tau[:, 0].tolist() == [0, 0.25, 1]


def test_what_recurs_daily_gets_the_same_value_daily() -> None:
    """The paper's example: omega = 2 pi / 24 hours."""
    module = Time2Vec(2, 1.0, 1.0, seeded())
    tau = module(torch.tensor([0.3, 1.3, 27.3]))[:, 1]
    torch.testing.assert_close(tau, tau[0].expand(3), atol=1e-5, rtol=0)


def test_a_minute_counts_after_ten_years() -> None:
    """The phase is a float64: in float32 it would be off by whole radians at five million radians."""
    module = Time2Vec(2, MINUTE, 3650.0, seeded())
    t = torch.tensor([3650.0 - 0.25])
    true = math.cos(module.omega[1].item() * (t.item() / 3650.0) + module.phi[1].item())
    assert abs(module(t)[0, 1].item() - true) < 1e-6


def test_one_step_of_adam_turns_no_phase_by_more_than_the_learning_rate() -> None:
    module = Time2Vec(8, MINUTE, 1000.0, seeded())
    t = torch.linspace(0, 1000, 50)
    optimiser = torch.optim.Adam(module.parameters(), 1e-3)
    before = module.omega.detach().clone()
    module(t).square().sum().backward()
    optimiser.step()
    turned = (module.omega.detach() - before).abs()
    # The shortest periods' frequencies are large numbers, and float32 rounds the step.
    assert turned[:5].max() <= 1.001e-3


def test_phases_come_from_the_generator() -> None:
    one, same, other = (Time2Vec(6, 1.0, 9.0, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(one.phi, same.phi)
    assert not torch.equal(one.phi, other.phi)
