r"""The gradient of a batch as the sum of those of its micro-batches, always added up in the same order.

    loss = sum_m (W_m / W) loss_m        W_m = total weight of the examples of micro-batch m, W = sum_m W_m

``loss_m`` is a weighted mean, so the sum is that of the whole batch, also where micro-batches differ in size or weight.
Each gradient becomes a row of numbers. Rows are added one after the other, from the first micro-batch to the last, by
whoever has computed them. The result depends on the number of micro-batches, and not on the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gtea.training.objective import Batch, Objective

_FIGURES = 2
"""A row begins with the loss and the number of events, then has a mark for each parameter that has a gradient."""


@dataclass(frozen=True)
class MicroBatch(Generic[Batch]):
    """Some items of a batch, one after the other."""

    number: int
    """Its place in the batch."""
    items: NDArray[np.int64]
    share: float
    """Its share of the total weight of the batch."""
    inputs: Batch


def micro_batches_of(
    objective: Objective[Batch], count: int, numbers: range
) -> Callable[[NDArray[np.int64], int], list[MicroBatch[Batch]]]:
    """A function that makes some micro-batches of the batch of some items in an epoch.

    Args:
        objective: The task.
        count: How many micro-batches a batch has. Those at the end are empty if there are fewer items.
        numbers: Those that are wanted.
    """

    def make(items: NDArray[np.int64], epoch: int) -> list[MicroBatch[Batch]]:
        pieces = [piece for piece in np.array_split(items, count) if len(piece)]
        weights = [_weight(objective, piece) for piece in pieces]
        total = sum(weights)
        return [
            MicroBatch(number, pieces[number], weights[number] / total, objective.make_batch(pieces[number], epoch))
            for number in numbers
            # The mean of a piece without weight would be 0 / 0. A whole batch without weight stays an error.
            if number < len(pieces) and (weights[number] > 0 or not total > 0)
        ]

    return make


def _weight(objective: Objective[Batch], items: NDArray[np.int64]) -> float:
    return float(objective.targets_of(items)[1].double().sum())


class GradientRows:
    """Gradients of a network as rows: one number for each of its parameters' numbers, in order."""

    def __init__(self, network: nn.Module) -> None:
        self._parameters = list(network.parameters())
        self._first = _FIGURES + len(self._parameters)
        self.width = self._first + sum(parameter.numel() for parameter in self._parameters)
        """The length of a row."""

    def empty(self, count: int) -> Tensor:
        """Rows of zeros: those of micro-batches without items."""
        return torch.zeros((count, self.width), device=self._parameters[0].device)

    def fill(self, row: Tensor, loss: Tensor, num_events: int) -> None:
        """Propagate a loss back, and put it and the gradients into a row."""
        for parameter in self._parameters:
            parameter.grad = None
        loss.backward()
        row[0], row[1] = loss.detach(), float(num_events)
        start = self._first
        for place, parameter in enumerate(self._parameters):
            end = start + parameter.numel()
            if parameter.grad is not None:
                row[_FIGURES + place] = 1.0
                row[start:end] = parameter.grad.reshape(-1)
            start = end

    def add_up(self, rows: Tensor) -> tuple[float, int]:
        """Give the parameters the sum of some rows, added in order. Returns the loss and the number of events.

        A parameter without a gradient in any row has none, so the optimiser leaves it as it is.
        """
        total = rows[0].clone()
        for row in rows[1:]:
            total += row
        figures = total[: self._first].tolist()
        start = self._first
        for place, parameter in enumerate(self._parameters):
            end = start + parameter.numel()
            parameter.grad = total[start:end].view_as(parameter) if figures[_FIGURES + place] else None
            start = end
        return figures[0], int(figures[1])
