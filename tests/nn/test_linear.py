"""Linear maps and MLPs: weights are a function of the generator alone, and dropout is for training."""

from __future__ import annotations

import torch
from tests.nn.examples import seeded

from gtea.nn.linear import MLP, linear, uniform


def test_the_global_generator_is_neither_read_nor_moved() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = linear(4, 3, seeded())
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(linear(4, 3, seeded()).weight, first.weight)


def test_bounds() -> None:
    values = uniform(1000, bound=0.5, generator=seeded())
    assert values.abs().max() <= 0.5
    assert values.min() < -0.45
    assert values.max() > 0.45
    assert linear(16, 3, seeded()).weight.abs().max() <= 0.25


def test_dropout_only_while_training() -> None:
    net = MLP(4, 50, 3, 0.5, seeded())
    x = torch.ones(2, 4)
    assert not torch.equal(net(x), net(x))
    net.eval()
    assert torch.equal(net(x), net(x))


def test_no_rows() -> None:
    assert MLP(4, 5, 3, 0.0, seeded())(torch.empty(0, 4)).shape == (0, 3)
