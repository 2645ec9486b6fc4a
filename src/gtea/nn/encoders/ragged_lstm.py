"""An LSTM in PyTorch over histories of different lengths, without padding.

A history of 11 = 8 + 2 + 1 events is read as three pieces. All histories with a piece of the same size read it
together, the largest size first. Lengths up to 256 need nine calls of torch's LSTM (oneDNN on CPUs), whatever the
lengths are. No step is spent on padding, and the state after the last event is exact, cells included, which padded
batches do not give. This is 1.0 to 1.4x faster than length buckets padded to powers of two, depending on the run and
the load of the machine (benchmarks/bench_encoders.py). A prototype that looped over the still-active rows took twice as
long at 2,000 edges. The price: an edge takes part in up to log2(length) + 1 calls instead of one.

The compiled kernels replace it where they are installed (``gtea.nn.kernels``), and must agree with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


class LSTMWeights(NamedTuple):
    """The parameters of one layer, with the rows of the gates i, f, c, o in this order."""

    w: Tensor  # [4 d, d_in]
    u: Tensor  # [4 d, d]
    b: Tensor  # [4 d]


@dataclass(frozen=True)
class LSTMState:
    """The state of an LSTM after each history, from which it can continue with later events."""

    h: Tensor  # [num_encoder_layers, num_edges, d]
    c: Tensor  # [num_encoder_layers, num_edges, d]


def ragged_lstm(x: Tensor, offset: Tensor, weights: Sequence[LSTMWeights], state: LSTMState) -> LSTMState:
    """The state after the last event of each history; the given state for a history without events."""
    length = offset.diff()
    # Longest first: the histories with at least 2^bit events are then the first rows, and the states of the others
    # are not needed yet.
    order = length.argsort(descending=True, stable=True)
    length, start = length[order], offset[:-1][order]
    untouched_h, untouched_c = state.h[:, order], state.c[:, order]
    h, c = untouched_h[:, :0], untouched_c[:, :0]
    for bit in reversed(range(_num_bits(length))):
        num_reached = int((length >= 1 << bit).sum())
        h, c = _extend(h, untouched_h, num_reached), _extend(c, untouched_c, num_reached)
        rows = ((length[:num_reached] >> bit) & 1).nonzero().squeeze(1)
        if len(rows):
            already_read = (length[rows] >> (bit + 1)) << (bit + 1)
            piece = _events(x, start[rows] + already_read, 1 << bit)
            h_new, c_new = _run(piece, h[:, rows], c[:, rows], weights)
            h, c = h.index_copy(1, rows, h_new), c.index_copy(1, rows, c_new)
    num_edges, inverse = len(order), order.argsort()
    return LSTMState(_extend(h, untouched_h, num_edges)[:, inverse], _extend(c, untouched_c, num_edges)[:, inverse])


def _num_bits(descending: Tensor) -> int:
    return int(descending[0]).bit_length() if len(descending) else 0


def _extend(active: Tensor, untouched: Tensor, num_rows: int) -> Tensor:
    return torch.cat([active, untouched[:, active.shape[1] : num_rows]], dim=1)


def _events(x: Tensor, first: Tensor, size: int) -> Tensor:
    """The ``size`` events that start at each given row, [size, num_rows, d_in]."""
    rows = first + torch.arange(size, device=x.device)[:, None]
    return x.index_select(0, rows.flatten()).view(size, len(first), -1)


def _run(x: Tensor, h: Tensor, c: Tensor, weights: Sequence[LSTMWeights]) -> tuple[Tensor, Tensor]:
    """torch.lstm over [time, row, d_in] from a state. It needs a second bias, which the paper doesn't have: zeros."""
    flat = [part for w, u, b in weights for part in (w, u, b, torch.zeros_like(b))]
    # Without train=True, oneDNN and cuDNN save nothing for the backward pass, even if autograd is on.
    _, h_new, c_new = torch.lstm(
        x,
        (h.contiguous(), c.contiguous()),
        flat,
        has_biases=True,
        num_layers=len(weights),
        dropout=0.0,
        train=torch.is_grad_enabled(),
        bidirectional=False,
        batch_first=False,
    )
    return h_new, c_new
