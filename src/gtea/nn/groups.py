"""Groups of logits that are normalised together: the neighbours of one target.

A mini-batch has at most K neighbours per target, in a padded table [num_targets, K]. A whole graph has targets with one
neighbour and targets with a million, concatenated. Each normaliser (sparsemax, softmax, entmax15) is written once, in
terms of operations that both layouts implement. Autograd does not see these operations: each normaliser has a gradient
in closed form.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtea.nn.segments import segment_ids, segment_max, segment_sum
from gtea.runtime.jit import jit

_SHORT = 24
"""Segments up to this length are sorted by insertion, which allocates no memory."""


class Ranked(NamedTuple):
    """The values of each group in descending order, with cumulative sums."""

    value: Tensor
    rank: Tensor  # 1, 2, ..
    total: Tensor  # sum of the values up to this rank
    total_of_squares: Tensor


class Groups(ABC):
    """A partition of logits into groups. Results that belong to a whole group broadcast against its values."""

    @abstractmethod
    def below_largest(self, values: Tensor) -> Tensor:
        """Each value minus the maximum of its group; -inf in the padding."""

    @abstractmethod
    def total(self, values: Tensor) -> Tensor:
        """The sum over each value's group."""

    @abstractmethod
    def ranked(self, values: Tensor) -> Ranked:
        """The values of each group in descending order, at the positions of that group."""


class DenseGroups(Groups):
    """One group per row of a table.

    Args:
        mask: False in the padding, bool [num_targets, K].
    """

    def __init__(self, mask: Tensor) -> None:
        self._mask = mask

    def below_largest(self, values: Tensor) -> Tensor:
        """Each value minus the maximum of its row; -inf in the padding."""
        present = values.masked_fill(~self._mask, -torch.inf)
        # A row of padding gives -inf - -inf = NaN, which torch.where drops.
        return torch.where(self._mask, present - present.amax(-1, keepdim=True), -torch.inf)

    def total(self, values: Tensor) -> Tensor:
        """The sum of each row, [num_targets, 1]."""
        return values.sum(-1, keepdim=True)

    def ranked(self, values: Tensor) -> Ranked:
        """Each row in descending order, padding included."""
        value = values.sort(-1, descending=True).values
        rank = torch.arange(1, values.shape[-1] + 1, device=values.device, dtype=values.dtype)
        return Ranked(value, rank, value.cumsum(-1), value.square().cumsum(-1))


class SegmentGroups(Groups):
    """One group per segment of consecutive values, [num_slots, ...].

    Sums are accumulated in float64: cumulative sums run over the whole graph before the start of each segment is
    subtracted, and a hub alone may add up a million weights.

    Args:
        offset: Group i is offset[i] : offset[i + 1], int64 [num_groups + 1].
        num_slots: The number of values, offset[-1].
        group: The group of each value, if it has been computed already.
    """

    def __init__(self, offset: Tensor, num_slots: int, group: Tensor | None = None) -> None:
        self._offset = offset
        self._num_groups = len(offset) - 1
        self._group = segment_ids(offset, num_slots) if group is None else group

    def below_largest(self, values: Tensor) -> Tensor:
        """Each value minus the maximum of its segment."""
        return values - segment_max(values, self._group, self._num_groups).index_select(0, self._group)

    def total(self, values: Tensor) -> Tensor:
        """The sum of each value's segment, [num_slots, ...]."""
        sums = segment_sum(values.double(), self._group, self._num_groups).to(values.dtype)
        return sums.index_select(0, self._group)

    def ranked(self, values: Tensor) -> Ranked:
        """Each segment in descending order: by compiled code on the CPU, else by two stable sorts."""
        if values.device.type == "cpu" and values.dim() == 1:
            offset = self._offset.numpy()
            return Ranked(*(torch.from_numpy(column) for column in _rank_segments(values.double().numpy(), offset)))
        by_value = values.argsort(descending=True, stable=True)
        order = by_value[self._group[by_value].argsort(stable=True)]
        value = values[order].double()
        rank = torch.arange(1, len(value) + 1, device=value.device) - self._offset[:-1][self._group]
        return Ranked(value, rank.double(), self._cumulative(value), self._cumulative(value.square()))

    def _cumulative(self, values: Tensor) -> Tensor:
        cumulative = torch.cat([values.new_zeros(1), values.cumsum(0)])
        return cumulative[1:] - cumulative[self._offset[:-1]][self._group]


@jit
def _rank_segments(values: NDArray[np.float64], offset: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
    """The four columns of ``Ranked``. Most segments are short, so sorting each is far cheaper than sorting all."""
    value, rank = values.copy(), np.empty(len(values), dtype=np.float64)
    total, total_of_squares = np.empty(len(values), dtype=np.float64), np.empty(len(values), dtype=np.float64)
    for segment in range(len(offset) - 1):
        start, stop = offset[segment], offset[segment + 1]
        _sort_descending(value[start:stop])
        cumulative = cumulative_squares = 0.0
        for i in range(start, stop):
            cumulative += value[i]
            cumulative_squares += value[i] * value[i]
            rank[i], total[i], total_of_squares[i] = i - start + 1, cumulative, cumulative_squares
    return value, rank, total, total_of_squares


@jit
def _sort_descending(segment: NDArray[np.float64]) -> None:
    """Sort a segment in descending order, in place."""
    if len(segment) > _SHORT:
        segment[:] = np.sort(segment)[::-1]
        return
    for i in range(1, len(segment)):
        moved, position = segment[i], i
        while position > 0 and segment[position - 1] < moved:
            segment[position] = segment[position - 1]
            position -= 1
        segment[position] = moved
