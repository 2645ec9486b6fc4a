"""How much each training example counts in the loss: its own weight, times that of its class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Made = TypeVar("Made")


def class_weights(
    targets: NDArray[np.int64], weights: NDArray[np.float64] | None, num_classes: int, *, balanced: bool
) -> Tensor:
    """One weight a class; balanced ones make all classes count alike in sum, whatever their examples' weights."""
    if not balanced:
        return torch.ones(num_classes)
    counts = np.bincount(targets, weights, minlength=num_classes)
    # A class that training never sees can't be weighed; it keeps weight 0 and is never the right answer.
    found = np.divide(counts.sum(), num_classes * counts, out=np.zeros(num_classes), where=counts > 0)
    return torch.from_numpy(found.astype(np.float32))


def example_weights(weights: NDArray[np.float64]) -> Tensor:
    """The examples' own weights as the loss takes them: with mean 1, so that they fit into float32."""
    return torch.from_numpy((weights / weights.mean()).astype(np.float32))


def weighted_mean(losses: Tensor, weights: Tensor) -> Tensor:
    """The mean over a batch in which an example of weight 2 counts like two."""
    return (losses * weights).sum() / weights.sum()


@dataclass(frozen=True)
class Objective(Generic[Made]):
    """What training needs of a task: batches by item numbers and epoch, answers, their mean loss, and a judgement."""

    make: Callable[[NDArray[np.int64], int], Made]
    sizes: tuple[int, ...]
    """How many items there are of each kind, numbered one kind after the other. A batch holds items of one kind."""
    answers_of: Callable[[NDArray[np.int64]], tuple[Tensor, Tensor]]
    """The right answer to each row of a batch of items, and how much it counts."""
    loss_of: Callable[[NDArray[np.int64], Made], Tensor]
    judge: Callable[[], Mapping[str, float]]
