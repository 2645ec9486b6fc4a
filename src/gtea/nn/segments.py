"""Sums and maxima over segments of consecutive rows.

Segment i is the rows offset[i] : offset[i + 1]. Nothing is padded, and an empty segment is not a special case.
"""

from __future__ import annotations

import torch
from torch import Tensor


def segment_ids(offset: Tensor, num_rows: int) -> Tensor:
    """The segment of each row, [num_rows]."""
    segments = torch.arange(len(offset) - 1, device=offset.device)
    return segments.repeat_interleave(offset.diff(), output_size=num_rows)


def segment_sum(values: Tensor, segment: Tensor, num_segments: int) -> Tensor:
    """The sum of each segment's rows, zero for an empty segment: [num_segments, ...]."""
    return values.new_zeros(num_segments, *values.shape[1:]).index_add(0, segment, values)


def segment_max(values: Tensor, segment: Tensor, num_segments: int) -> Tensor:
    """The maximum of each segment's rows, zero for an empty segment: [num_segments, ...]."""
    index = segment.view(-1, *[1] * (values.dim() - 1)).expand_as(values)
    zeros = values.new_zeros(num_segments, *values.shape[1:])
    return zeros.scatter_reduce(0, index, values, "amax", include_self=False)
