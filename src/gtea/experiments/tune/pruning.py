"""The median pruning rule.

A trial is pruned if its best metric so far is below the median of what the finished trials had reached by the same
epoch. The rule depends only on metrics on disk, so a resumed search prunes the same trials.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from gtea.experiments.tune.trials import Trial


@dataclass(frozen=True)
class MedianRule:
    """Median pruning, with a warm-up in trials and in epochs."""

    trials: int = 5
    """Number of trials that must have finished before any is pruned."""
    epochs: int = 5
    """Number of epochs that every trial may run."""

    def prunes_at(self, curve: Sequence[float], earlier: Sequence[Trial], epochs: int) -> int | None:
        """The first epoch (from 0) after which the trial is pruned, or None.

        Args:
            curve: The trial's metric after each epoch so far.
            earlier: The trials that ran before it.
            epochs: The maximum number of epochs. Pruning after the last one would save nothing.
        """
        finished = [trial.curve for trial in earlier if trial.state == "finished"]
        if len(finished) < self.trials:
            return None
        for epoch in range(self.epochs - 1, min(len(curve), epochs - 1)):
            # A trial that stopped earlier counts with its best metric.
            if max(curve[: epoch + 1]) < statistics.median(max(other[: epoch + 1]) for other in finished):
                return epoch
        return None
