"""Which logits are weighed against one another: the neighbours of one target.

A mini-batch holds at most K neighbours per target, in a table [num_targets, K] with gaps. A whole graph has targets
with one neighbour and targets with a million, one after the other. Each normaliser (sparsemax, softmax, entmax15) is
written once, in terms of what both forms offer. None of it is differentiated through: each normaliser has its own
gradient in closed form.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from gtea.nn.segments import run_max, run_of_rows, run_sum


class Ranked(NamedTuple):
    """A group's values from large to small and, at each rank, what has been passed so far."""

    value: Tensor
    rank: Tensor  # 1, 2, ..
    total: Tensor  # sum of the values up to this rank
    total_of_squares: Tensor


class Groups(ABC):
    """A partition of logits. A total holds for a whole group and can be combined with any of its values."""

    @abstractmethod
    def below_largest(self, values: Tensor) -> Tensor:
        """Each value minus its group's largest; -inf in a gap."""

    @abstractmethod
    def total(self, values: Tensor) -> Tensor:
        """The sum over each value's group."""

    @abstractmethod
    def ranked(self, values: Tensor) -> Ranked:
        """The values in descending order within each group, at the group's own places."""


class DenseGroups(Groups):
    """One group per row of a table.

    Args:
        mask: False in a gap, bool [num_targets, K].
    """

    def __init__(self, mask: Tensor) -> None:
        self._mask = mask

    def below_largest(self, values: Tensor) -> Tensor:
        """Each value minus its row's largest; -inf in a gap."""
        present = values.masked_fill(~self._mask, -torch.inf)
        # A row of gaps alone is -inf - -inf: the outer choice drops it.
        return torch.where(self._mask, present - present.amax(-1, keepdim=True), -torch.inf)

    def total(self, values: Tensor) -> Tensor:
        """The sum of each row, [num_targets, 1]."""
        return values.sum(-1, keepdim=True)

    def ranked(self, values: Tensor) -> Ranked:
        """Each row in descending order, gaps included."""
        value = values.sort(-1, descending=True).values
        rank = torch.arange(1, values.shape[-1] + 1, device=values.device, dtype=values.dtype)
        return Ranked(value, rank, value.cumsum(-1), value.square().cumsum(-1))


class SegmentGroups(Groups):
    """One group per run of consecutive values; there may be values of several kinds, [num_slots, ...].

    Sums are accumulated in float64: running sums go over the whole graph before each run's start is taken off, and
    a hub alone may add up a million weights.

    Args:
        offset: Group i is offset[i] : offset[i + 1], int64 [num_groups + 1].
        num_slots: How many values there are, offset[-1].
    """

    def __init__(self, offset: Tensor, num_slots: int) -> None:
        self._offset = offset
        self._num_groups = len(offset) - 1
        self._group = run_of_rows(offset, num_slots)

    def below_largest(self, values: Tensor) -> Tensor:
        """Each value minus its run's largest."""
        return values - run_max(values, self._group, self._num_groups).index_select(0, self._group)

    def total(self, values: Tensor) -> Tensor:
        """The sum of each value's run, [num_slots, ...]."""
        sums = run_sum(values.double(), self._group, self._num_groups).to(values.dtype)
        return sums.index_select(0, self._group)

    def ranked(self, values: Tensor) -> Ranked:
        """Each run in descending order: one sort by value, then a stable one by run."""
        by_value = values.argsort(descending=True, stable=True)
        order = by_value[self._group[by_value].argsort(stable=True)]
        value = values[order].double()
        rank = torch.arange(1, len(value) + 1, device=value.device) - self._offset[:-1][self._group]
        return Ranked(value, rank.double(), self._running(value), self._running(value.square()))

    def _running(self, values: Tensor) -> Tensor:
        running = torch.cat([values.new_zeros(1), values.cumsum(0)])
        return running[1:] - running[self._offset[:-1]][self._group]
