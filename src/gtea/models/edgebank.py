"""EdgeBank (Poursafaei et al. 2022): who has met will meet again."""

from __future__ import annotations

import math

from torch import Tensor

from gtea.models.boosted_trees import TabularModel


class EdgeBank(TabularModel):
    """The later a pair last met, the likelier it meets again; a pair that never met has probability 0.

    probability = 1 / (1 + a), a = the age of the pair's last event, rounded down to a power of two

    EdgeBank answers 1 or 0: whether a pair has ever met, or within a window of time. Both are this score at a
    threshold, and the threshold is the one that does best on the validation part. Ages are rounded because everything
    is a little older in the test part: a threshold at the oldest pair of the one would cut off some of the other.
    Nothing is learnt.
    """

    def fit(self, rows: Tensor, answers: Tensor, weights: Tensor) -> None:
        """There is nothing to learn."""

    def forward(self, age: Tensor) -> Tensor:
        """Logits, [num_pairs]: sigmoid(-log a) = 1 / (1 + a)."""
        return -age.log2().floor() * math.log(2)
