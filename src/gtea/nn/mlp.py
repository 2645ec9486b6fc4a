"""The multi-layer perceptron of MLP_1, MLP_2 and MLP_3."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gtea.nn.initial import linear


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
