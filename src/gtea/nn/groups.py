"""Which logits are weighed against one another: the neighbours of one target.

A mini-batch holds at most K neighbours per target, in a table [num_targets, K] with gaps. A whole graph has targets
with one neighbour and targets with a million, one after the other. Each normaliser (sparsemax, softmax, entmax15) is
written once, in terms of what both forms offer. None of it is differentiated through: each normaliser has its own
gradient in closed form.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtea.nn.segments import run_max, run_of_rows, run_sum
from gtea.runtime.jit import jit

_SHORT = 24
"""Runs up to this length are sorted by insertion: no call, no memory."""


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
        group: For each value its group, if that is known already.
    """

    def __init__(self, offset: Tensor, num_slots: int, group: Tensor | None = None) -> None:
        self._offset = offset
        self._num_groups = len(offset) - 1
        self._group = run_of_rows(offset, num_slots) if group is None else group

    def below_largest(self, values: Tensor) -> Tensor:
        """Each value minus its run's largest."""
        return values - run_max(values, self._group, self._num_groups).index_select(0, self._group)

    def total(self, values: Tensor) -> Tensor:
        """The sum of each value's run, [num_slots, ...]."""
        sums = run_sum(values.double(), self._group, self._num_groups).to(values.dtype)
        return sums.index_select(0, self._group)

    def ranked(self, values: Tensor) -> Ranked:
        """Each run in descending order: run by run where compiled code can reach them, else by sorting twice."""
        if values.device.type == "cpu" and values.dim() == 1:
            offset = self._offset.numpy()
            return Ranked(*(torch.from_numpy(column) for column in _rank_runs(values.double().numpy(), offset)))
        by_value = values.argsort(descending=True, stable=True)
        order = by_value[self._group[by_value].argsort(stable=True)]
        value = values[order].double()
        rank = torch.arange(1, len(value) + 1, device=value.device) - self._offset[:-1][self._group]
        return Ranked(value, rank.double(), self._running(value), self._running(value.square()))

    def _running(self, values: Tensor) -> Tensor:
        running = torch.cat([values.new_zeros(1), values.cumsum(0)])
        return running[1:] - running[self._offset[:-1]][self._group]


@jit
def _rank_runs(values: NDArray[np.float64], offset: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
    """The four columns of ``Ranked``. Runs are short but for a few, so that sorting each is far cheaper than all."""
    value, rank = values.copy(), np.empty(len(values), dtype=np.float64)
    total, total_of_squares = np.empty(len(values), dtype=np.float64), np.empty(len(values), dtype=np.float64)
    for run in range(len(offset) - 1):
        start, stop = offset[run], offset[run + 1]
        _descend(value[start:stop])
        passed = passed_squares = 0.0
        for i in range(start, stop):
            passed += value[i]
            passed_squares += value[i] * value[i]
            rank[i], total[i], total_of_squares[i] = i - start + 1, passed, passed_squares
    return value, rank, total, total_of_squares


@jit
def _descend(run: NDArray[np.float64]) -> None:
    """Order a run from large to small in its place."""
    if len(run) > _SHORT:
        run[:] = np.sort(run)[::-1]
        return
    for i in range(1, len(run)):
        moved, place = run[i], i
        while place > 0 and run[place - 1] < moved:
            run[place] = run[place - 1]
            place -= 1
        run[place] = moved
