"""Histories of similar length side by side, padded to at most twice their length.

Only where every event asks every other one (the lower layers of a Transformer) is a rectangular shape worth its
padding; everything else in this package is ragged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

MAX_CELLS = 1 << 20
"""Largest num_histories * longest^2 of a bucket with more than one history: bounds the attention matrices."""


@dataclass(frozen=True)
class Bucket:
    """Some histories as a table of event rows."""

    row: Tensor  # int64 [num_histories, longest]; any valid row in the padding
    mask: Tensor  # bool [num_histories, longest]; False in the padding


def length_buckets(offset: Tensor) -> Iterator[Bucket]:
    """Split histories by length, 1, 2, 3..4, 5..8 and so on; those without events appear nowhere."""
    length = offset.diff()
    longest = int(length.max()) if len(length) else 0
    for bit in range((longest - 1).bit_length() + 1 if longest else 0):
        members = ((length <= 1 << bit) & (length > (1 << bit) // 2)).nonzero().squeeze(1)
        for some in torch.split(members, max(1, MAX_CELLS >> 2 * bit)):
            if len(some):
                yield _bucket(offset[:-1][some], length[some])


def _bucket(start: Tensor, length: Tensor) -> Bucket:
    place = torch.arange(int(length.max()), device=start.device)
    mask = place < length[:, None]
    return Bucket(start[:, None] + place * mask, mask)
