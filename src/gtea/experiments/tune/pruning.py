"""When to give a trial up: the median rule.

A trial ends early if its best figure so far is below the median of what the finished trials had reached by the same
epoch. It is a pure function of figures that are on disk: a search that was killed gives up the same trials.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from gtea.experiments.tune.trials import Trial


@dataclass(frozen=True)
class MedianRule:
    """How long the rule waits before it judges."""

    trials: int = 5
    """So many must have finished."""
    epochs: int = 5
    """So many must a trial be granted."""

    def stops_at(self, curve: Sequence[float], earlier: Sequence[Trial], epochs: int) -> int | None:
        """The first epoch after which the trial is given up, or None.

        Args:
            curve: The trial's figure after each epoch so far.
            earlier: The trials before it.
            epochs: The most there may be: there is nothing to spare after the last.
        """
        finished = [trial.curve for trial in earlier if trial.state == "finished"]
        if len(finished) < self.trials:
            return None
        for epoch in range(self.epochs - 1, min(len(curve), epochs - 1)):
            # One that ended before this epoch keeps what it had.
            if max(curve[: epoch + 1]) < statistics.median(max(other[: epoch + 1]) for other in finished):
                return epoch
        return None
