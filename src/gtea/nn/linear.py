"""First values of parameters, drawn from a given generator and from nothing else.

A model's weights are a pure function of its seed: torch's global generator is neither read nor moved, so that
building a model can't change the course of anything else that draws numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def uniform(*shape: int, bound: float, generator: torch.Generator) -> nn.Parameter:
    """A parameter with entries uniform in [-bound, bound]."""
    return nn.Parameter((2 * torch.rand(*shape, generator=generator, dtype=torch.float32) - 1) * bound)


def linear(d_in: int, d_out: int, generator: torch.Generator) -> nn.Linear:
    """A linear map with weights and bias uniform in +-1/sqrt(d_in), PyTorch's own rule."""
    layer = nn.Linear(d_in, d_out, device="meta")
    layer.weight = uniform(d_out, d_in, bound=d_in**-0.5, generator=generator)
    layer.bias = uniform(d_out, bound=d_in**-0.5, generator=generator)
    return layer


def begin_at_zero(layer: nn.Linear) -> None:
    """Let a layer say nothing before it has learnt something."""
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)


class MLP(nn.Module):
    """Two linear layers with ReLU (and, while training, dropout) between. The paper doesn't say more than "MLP".

    MLP(x) = W_2 relu(W_1 x + b_1) + b_2
    """

    def __init__(self, d_in: int, d_hidden: int, d_out: int, dropout: float, generator: torch.Generator) -> None:
        super().__init__()
        self.into = linear(d_in, d_hidden, generator)
        self.dropout = nn.Dropout(dropout)
        self.out = linear(d_hidden, d_out, generator)

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., d_in] to [..., d_out]."""
        mapped: Tensor = self.out(self.dropout(torch.relu(self.into(x))))
        return mapped
