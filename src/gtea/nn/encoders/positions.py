"""Sinusoidal position encoding (Vaswani et al., 2017)."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def encode_positions(position: Tensor, d: int, dtype: torch.dtype) -> Tensor:
    """Sines and cosines of wavelengths from 2 pi to 10,000 * 2 pi, side by side: [num_events, d]."""
    num_positions = int(position.max()) + 1 if len(position) else 0
    distinct = torch.arange(num_positions, device=position.device, dtype=torch.float64)
    pair = torch.arange((d + 1) // 2, device=position.device, dtype=torch.float64)
    angle = distinct[:, None] * torch.exp(pair * (-2 * math.log(10_000) / d))
    waves = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :d]
    return waves.to(dtype).index_select(0, position)


def positions_from_end(offset: Tensor, run: Tensor) -> Tensor:
    """How many events of the same history came after each event: 0 for the last.

    Counted from the end, an event's position doesn't depend on how much of the history before it was kept: a
    truncated history is encoded as the end of the full one. Counted from the start, every new event would shift the
    positions of a full window. The last event, the one that asks, always stands at 0.
    """
    return offset[1:][run] - 1 - torch.arange(len(run), device=run.device)
