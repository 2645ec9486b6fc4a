"""GTEA_TX: a Transformer over an edge's history.

Positions use the sinusoidal encoding of Vaswani et al. (2017), counted from the end of the history.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from gtea.nn.encoders.self_attention import SelfAttention
from gtea.nn.encoders.sequence_encoder import SequenceEncoder
from gtea.nn.linear import MLP, linear
from gtea.nn.segments import segment_ids


class TransformerEncoder(SequenceEncoder):
    """Enc as a Transformer of one to three layers; e_tilde is the last event's row (Appendix 2.1).

    E^(0) = e_hat W + b + position encoding
    E^(n) = Block(E^(n-1)) below the top
    e_tilde = the S-th row of E_tilde, the top layer's attention: "the mean of each attention head"

    The top layer is the paper's equation alone, without a feed-forward network after it; on small synthetic tasks a
    full block did no better. Only its last row is needed, so a single layer costs O(S).
    """

    def __init__(
        self, d_in: int, d_edge: int, num_encoder_layers: int, num_heads: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.d_edge = d_edge
        self.into = linear(d_in, d_edge, generator)
        self.below = nn.ModuleList(
            TransformerBlock(d_edge, num_heads, generator) for _ in range(num_encoder_layers - 1)
        )
        self.top = SelfAttention(d_edge, num_heads, generator)

    def forward(self, e_hat: Tensor, offset: Tensor) -> Tensor:
        """The top layer's last row of each history, [num_edges, d_edge]."""
        return self._encode(e_hat, _history_layout(e_hat, offset, self.d_edge))

    def encode_both(self, other: SequenceEncoder, e_hat: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
        """Run both encoders, with positions computed once."""
        assert isinstance(other, TransformerEncoder)
        layout = _history_layout(e_hat, offset, self.d_edge)
        return self._encode(e_hat, layout), other._encode(e_hat, layout)

    def _encode(self, e_hat: Tensor, layout: _HistoryLayout) -> Tensor:
        e = self.into(e_hat) + layout.positions
        for block in self.below:
            e = block(e, layout.offset)
        last: Tensor = self.top.last_row(e, layout.offset, layout.edge)
        if len(last) == layout.num_edges:
            return last
        return e_hat.new_zeros(layout.num_edges, self.d_edge).index_copy(0, layout.occupied, last)


class TransformerBlock(nn.Module):
    """A layer below the top: attention and a feed-forward network, with pre-normalisation and residual connections.

    y = E + E_tilde(LayerNorm(E)),  Block(E) = y + MLP(LayerNorm(y))

    The paper says that layers are stacked, but not how. Its reference (Vaswani et al., 2017) normalises after the
    addition. With normalisation before it, a two-layer encoder learnt a synthetic pass-through pattern to an accuracy
    of 0.98 instead of 0.89 in the same 1,200 steps (two seeds each).
    """

    def __init__(self, d_edge: int, num_heads: int, generator: torch.Generator) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(d_edge)
        self.attention = SelfAttention(d_edge, num_heads, generator)
        self.norm_feed_forward = nn.LayerNorm(d_edge)
        self.feed_forward = MLP(d_edge, 2 * d_edge, d_edge, 0.0, generator)

    def forward(self, e: Tensor, offset: Tensor) -> Tensor:
        """The rows of all events, [num_events, d_edge]."""
        y = e + self.attention(self.norm_attention(e), offset)
        out: Tensor = y + self.feed_forward(self.norm_feed_forward(y))
        return out


def encode_positions(position: Tensor, d: int, dtype: torch.dtype) -> Tensor:
    """Sines and cosines with wavelengths from 2 pi to 10,000 * 2 pi, alternating, [num_events, d]."""
    num_positions = int(position.max()) + 1 if len(position) else 0
    distinct = torch.arange(num_positions, device=position.device, dtype=torch.float64)
    pair = torch.arange((d + 1) // 2, device=position.device, dtype=torch.float64)
    angle = distinct[:, None] * torch.exp(pair * (-2 * math.log(10_000) / d))
    waves = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :d]
    return waves.to(dtype).index_select(0, position)


def positions_from_end(offset: Tensor, edge: Tensor) -> Tensor:
    """The number of later events of the same history: 0 for the last event.

    Counted from the end, a position does not depend on how much of the history before it was kept: a truncated history
    is encoded as the end of the full one. Counted from the start, every new event would shift the positions of a full
    window. The last event, whose row is the output, is always at position 0.
    """
    return offset[1:][edge] - 1 - torch.arange(len(edge), device=edge.device)


class _HistoryLayout(NamedTuple):
    """The layout of some histories. Histories without events have no last row and are left out."""

    num_edges: int
    occupied: Tensor  # int64 [num_occupied]: the histories that have events
    offset: Tensor  # int64 [num_occupied + 1]
    edge: Tensor  # int64 [num_events]: the history of each event, counted among those that have events
    positions: Tensor  # [num_events, d_edge]: the encoded position of each event, counted from the end


def _history_layout(e_hat: Tensor, offset: Tensor, d_edge: int) -> _HistoryLayout:
    """Compute the layout of histories: it does not depend on the encoder's parameters."""
    occupied = offset.diff().nonzero().squeeze(1)
    kept = torch.cat([offset[:1], offset[1:][occupied]])
    edge = segment_ids(kept, len(e_hat))
    positions = encode_positions(positions_from_end(kept, edge), d_edge, e_hat.dtype)
    return _HistoryLayout(len(offset) - 1, occupied, kept, edge, positions)
