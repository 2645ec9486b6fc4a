"""Training objectives: batches, targets, weights, the loss and the validation metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Batch = TypeVar("Batch")


class Examples(NamedTuple):
    """All training examples as one table, for fitting trees."""

    rows: Tensor
    targets: Tensor
    weights: Tensor


@dataclass(frozen=True)
class Objective(Generic[Batch]):
    """The functions of a task that training calls."""

    make_batch: Callable[[NDArray[np.int64], int], Batch]
    """Build the batch of some items in an epoch."""
    sizes: tuple[int, ...]
    """The sizes of the groups of items. Items are numbered group by group. A batch holds items of one group."""
    targets_of: Callable[[NDArray[np.int64]], tuple[Tensor, Tensor]]
    """Return the target and the weight of each row of a batch."""
    loss_of: Callable[[NDArray[np.int64], Batch], Tensor]
    """Return the mean loss over the items of a batch."""
    validate: Callable[[], Mapping[str, float]]
    """Return the metrics of the validation part."""
    examples: Callable[[], Examples]
    """Return the training examples as rows of statistics, for the trees of a hybrid."""


def class_weights(
    targets: NDArray[np.int64], weights: NDArray[np.float64] | None, num_classes: int, *, balanced: bool
) -> Tensor:
    """Return one weight per class. If balanced, every class has the same total weight."""
    if not balanced:
        return torch.ones(num_classes)
    counts = np.bincount(targets, weights, minlength=num_classes)
    # A class without training examples keeps the weight 0.
    found = np.divide(counts.sum(), num_classes * counts, out=np.zeros(num_classes), where=counts > 0)
    return torch.from_numpy(found.astype(np.float32))


def example_weights(weights: NDArray[np.float64]) -> Tensor:
    """Scale the weights of examples to mean 1, so that they fit into float32."""
    return torch.from_numpy((weights / weights.mean()).astype(np.float32))


def weighted_mean(losses: Tensor, weights: Tensor) -> Tensor:
    """Return the weighted mean loss of a batch: an example with weight 2 counts as two examples."""
    return (losses * weights).sum() / weights.sum()
