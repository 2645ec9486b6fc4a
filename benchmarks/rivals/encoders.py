"""History encoders as in research code: all histories padded to the longest of the batch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence


def padded_table(e_hat: Tensor, start: Tensor, length: Tensor) -> tuple[Tensor, Tensor]:
    """Histories as a padded table [num_histories, longest, d_in], and the mask of real events."""
    position = torch.arange(int(length.max()))
    mask = position < length[:, None]
    return e_hat[(start[:, None] + position) * mask], mask


class PaddedLSTM(nn.Module):
    """``nn.LSTM`` over the padded table, then the last real step of each row."""

    def __init__(self, d_in: int, d_edge: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(d_in, d_edge, batch_first=True)

    def forward(self, e_hat: Tensor, start: Tensor, length: Tensor) -> Tensor:
        """The last hidden states."""
        table, _ = padded_table(e_hat, start, length)
        states: Tensor = self.lstm(table)[0]
        return states[torch.arange(len(table)), length - 1]


class PackedLSTM(PaddedLSTM):
    """The same with pack_padded_sequence, which skips padded steps but still needs the padded table."""

    def forward(self, e_hat: Tensor, start: Tensor, length: Tensor) -> Tensor:
        """The last hidden states."""
        table, _ = padded_table(e_hat, start, length)
        packed = pack_padded_sequence(table, length, batch_first=True, enforce_sorted=False)
        h: Tensor = self.lstm(packed)[1][0]
        return h[-1]


class PaddedTransformer(nn.Module):
    """A one-layer nn.TransformerEncoder with full attention between all positions, including padding."""

    def __init__(self, d_in: int, d_edge: int, num_heads: int = 4) -> None:
        super().__init__()
        self.projection = nn.Linear(d_in, d_edge)
        layer = nn.TransformerEncoderLayer(d_edge, num_heads, dim_feedforward=d_edge, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

    def forward(self, e_hat: Tensor, start: Tensor, length: Tensor) -> Tensor:
        """The outputs of the last events."""
        table, mask = padded_table(e_hat, start, length)
        rows: Tensor = self.encoder(self.projection(table), src_key_padding_mask=~mask)
        return rows[torch.arange(len(rows)), length - 1]
