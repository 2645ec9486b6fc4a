"""Ranks as bins that fill up one after the other: what lets a network bend where a tree would split."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gtea.nn.initial import linear

NUM_BINS = 16


class SoftBins(nn.Module):
    """A linear map of piecewise linear encodings (Gorishniy et al., 2022).

    Bin b of a rank r in [0, 1] holds clamp(B r - b, 0, 1), b = 0 .. B - 1: those below are full, those above empty.
    """

    def __init__(self, num_columns: int, d_out: int, generator: torch.Generator) -> None:
        super().__init__()
        self.into = linear(num_columns * NUM_BINS, d_out, generator)

    def forward(self, ranks: Tensor) -> Tensor:
        """Map ranks [num_rows, num_columns] to [num_rows, d_out]."""
        bins = torch.arange(NUM_BINS, device=ranks.device, dtype=ranks.dtype)
        filled = (NUM_BINS * ranks[:, :, None] - bins).clamp(0, 1)
        mapped: Tensor = self.into(filled.flatten(1))
        return mapped
