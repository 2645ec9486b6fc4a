"""EdgeBank (Poursafaei et al. 2022): predicts that past pairs interact again."""

from __future__ import annotations

import math

from torch import Tensor

from gtea.models.boosted_trees import TabularModel


class EdgeBank(TabularModel):
    """The more recent a pair's last event, the higher its score. A pair without events has probability 0.

    probability = 1 / (1 + a), a = the time since the pair's last event, rounded down to a power of two

    EdgeBank itself predicts 1 or 0: whether a pair has had an event, ever or within a time window. Both are thresholds
    of this score, and the threshold is the best one on the validation part. Ages are rounded because all pairs are a
    little older in the test part: a threshold at the oldest validation pair would exclude some test pairs. Nothing is
    learnt.
    """

    def fit(self, rows: Tensor, targets: Tensor, weights: Tensor) -> None:
        """Does nothing."""

    def forward(self, age: Tensor) -> Tensor:
        """Logits, [num_pairs]: sigmoid(-log a) = 1 / (1 + a)."""
        return -age.log2().floor() * math.log(2)
