"""Two linear layers, ReLU between, dropout only while training."""

from __future__ import annotations

import torch
from tests.nn.examples import seeded

from gtea.nn.linear import MLP


def test_dropout_only_while_training() -> None:
    net = MLP(4, 50, 3, 0.5, seeded())
    x = torch.ones(2, 4)
    assert not torch.equal(net(x), net(x))
    net.eval()
    assert torch.equal(net(x), net(x))


def test_no_rows() -> None:
    assert MLP(4, 5, 3, 0.0, seeded())(torch.empty(0, 4)).shape == (0, 3)
