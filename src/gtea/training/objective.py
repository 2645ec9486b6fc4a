"""What training minimises: batches, targets, weights, the loss, and how to validate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Made = TypeVar("Made")


class Examples(NamedTuple):
    """All training examples as one table: what trees are fitted to."""

    rows: Tensor
    targets: Tensor
    weights: Tensor


@dataclass(frozen=True)
class Objective(Generic[Made]):
    """What training needs to know of a task."""

    make: Callable[[NDArray[np.int64], int], Made]
    """The batch of some items in an epoch."""
    sizes: tuple[int, ...]
    """How many items there are of each kind, numbered one kind after the other. A batch holds items of one kind."""
    targets_of: Callable[[NDArray[np.int64]], tuple[Tensor, Tensor]]
    """The target of each row of a batch of items, and how much it counts."""
    loss_of: Callable[[NDArray[np.int64], Made], Tensor]
    """The mean loss over the items of a batch."""
    validate: Callable[[], Mapping[str, float]]
    """The metrics of the validation part."""
    examples: Callable[[], Examples]
    """The training examples as rows of statistics, for the trees of a hybrid. Not computed before it is called."""


def class_weights(
    targets: NDArray[np.int64], weights: NDArray[np.float64] | None, num_classes: int, *, balanced: bool
) -> Tensor:
    """One weight for each class. Balanced, every class has the same total weight."""
    if not balanced:
        return torch.ones(num_classes)
    counts = np.bincount(targets, weights, minlength=num_classes)
    # A class that training lacks has no weight to balance; it keeps 0.
    found = np.divide(counts.sum(), num_classes * counts, out=np.zeros(num_classes), where=counts > 0)
    return torch.from_numpy(found.astype(np.float32))


def example_weights(weights: NDArray[np.float64]) -> Tensor:
    """The examples' own weights, scaled to mean 1 so that they fit into float32."""
    return torch.from_numpy((weights / weights.mean()).astype(np.float32))


def weighted_mean(losses: Tensor, weights: Tensor) -> Tensor:
    """The mean over a batch in which an example of weight 2 counts like two."""
    return (losses * weights).sum() / weights.sum()
