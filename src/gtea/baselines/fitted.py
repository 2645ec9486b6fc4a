"""Models that are fitted to all training examples at once, instead of step by step."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn


class FittedAtOnce(nn.Module, ABC):
    """A model like any other to whoever saves, loads or scores with it; only training goes another way.

    What it has learnt are buffers, so that they are saved as numbers along with everybody else's weights.
    """

    @abstractmethod
    def fit(self, rows: Tensor, answers: Tensor, weights: Tensor) -> None:
        """Learn from examples.

        Args:
            rows: All training examples as one batch.
            answers: The right answer to each, [num_examples].
            weights: How much each example counts, [num_examples].
        """
