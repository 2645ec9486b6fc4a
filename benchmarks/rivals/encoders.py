"""Encoders of histories as research code has them: everything padded to the longest history of the batch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence


def padded_table(e_hat: Tensor, start: Tensor, length: Tensor) -> tuple[Tensor, Tensor]:
    """Histories as a table [num_histories, longest, d_in], and which of it is real."""
    place = torch.arange(int(length.max()))
    real = place < length[:, None]
    return e_hat[(start[:, None] + place) * real], real


class PaddedLSTM(nn.Module):
    """torch's LSTM over the whole table, then the last real step of each row."""

    def __init__(self, d_in: int, d_edge: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(d_in, d_edge, batch_first=True)

    def forward(self, e_hat: Tensor, start: Tensor, length: Tensor) -> Tensor:
        """The last hidden states."""
        table, _ = padded_table(e_hat, start, length)
        states: Tensor = self.lstm(table)[0]
        return states[torch.arange(len(table)), length - 1]


class PackedLSTM(PaddedLSTM):
    """The same with pack_padded_sequence, which spares the steps on padding but not the table."""

    def forward(self, e_hat: Tensor, start: Tensor, length: Tensor) -> Tensor:
        """The last hidden states."""
        table, _ = padded_table(e_hat, start, length)
        packed = pack_padded_sequence(table, length, batch_first=True, enforce_sorted=False)
        h: Tensor = self.lstm(packed)[1][0]
        return h[-1]


class PaddedTransformer(nn.Module):
    """A full nn.TransformerEncoder of one layer: every event, real or not, asks every other."""

    def __init__(self, d_in: int, d_edge: int, num_heads: int = 4) -> None:
        super().__init__()
        self.into = nn.Linear(d_in, d_edge)
        layer = nn.TransformerEncoderLayer(d_edge, num_heads, dim_feedforward=d_edge, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

    def forward(self, e_hat: Tensor, start: Tensor, length: Tensor) -> Tensor:
        """The rows of the last events."""
        table, real = padded_table(e_hat, start, length)
        rows: Tensor = self.encoder(self.into(table), src_key_padding_mask=~real)
        return rows[torch.arange(len(rows)), length - 1]
