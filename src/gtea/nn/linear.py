"""Linear maps, the MLP of MLP_1, MLP_2 and MLP_3, and their initial values.

Initial values are drawn from a given generator, so a model's weights are a pure function of its seed. The global
generator of torch is neither read nor advanced: building a model can't change other random draws.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class MLP(nn.Module):
    """Two linear layers with ReLU and dropout between them. The paper does not say more than "MLP".

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


def linear(d_in: int, d_out: int, generator: torch.Generator) -> nn.Linear:
    """A linear map with weights and bias uniform in +-1/sqrt(d_in), the default of PyTorch."""
    layer = nn.Linear(d_in, d_out, device="meta")
    layer.weight = uniform(d_out, d_in, bound=d_in**-0.5, generator=generator)
    layer.bias = uniform(d_out, bound=d_in**-0.5, generator=generator)
    return layer


def uniform(*shape: int, bound: float, generator: torch.Generator) -> nn.Parameter:
    """A parameter with entries uniform in [-bound, bound]."""
    return nn.Parameter((2 * torch.rand(*shape, generator=generator, dtype=torch.float32) - 1) * bound)


def zero_init(layer: nn.Linear) -> None:
    """Set weights and bias to zero, so that the layer has no effect at the start of training."""
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
