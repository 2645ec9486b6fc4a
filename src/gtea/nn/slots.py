"""Who aggregates from whom: one slot per target and neighbour, ordered by target, nothing padded."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from gtea.batch import Batch
from gtea.nn.segments import run_of_rows


@dataclass(frozen=True)
class Slots:
    """Target ``target[i]`` aggregates node ``neighbour[i]`` over edge ``edge[i]`` with weight ``alpha[i]``."""

    target: Tensor  # int64 [num_slots], ascending
    neighbour: Tensor  # int64 [num_slots], a row of z
    edge: Tensor  # int64 [num_slots], a row of e_tilde
    alpha: Tensor  # [num_slots]

    @classmethod
    def of_batch(cls, batch: Batch, alpha: Tensor) -> Slots:
        """The slots of a mini-batch.

        Slots of weight zero are left out. They add nothing, and the sparse normalisers pass no gradient to them:
        the result is the same and MLP_1 is spared the neighbours that the attention discards.

        Args:
            alpha: Weights of the neighbours, zero where there is none, [num_targets, K].
        """
        # Not "> 0": a NaN must go on and be seen at the end.
        target, place = ((alpha != 0) & (batch.edge >= 0)).nonzero(as_tuple=True)
        return cls(target, batch.neighbour[target, place], batch.edge[target, place], alpha[target, place])

    @classmethod
    def of_graph(cls, offset: Tensor, neighbour: Tensor, edge: Tensor, alpha: Tensor) -> Slots:
        """The slots of a whole graph, or of a run of its targets.

        Args:
            offset: Target i owns slots offset[i] : offset[i + 1], int64 [num_targets + 1].
        """
        kept = (alpha != 0).nonzero().squeeze(1)
        target = run_of_rows(offset, len(alpha))
        return cls(target[kept], neighbour[kept], edge[kept], alpha[kept])

    def first(self, num_targets: int) -> Slots:
        """The slots of the first targets only."""
        end = int((self.target < num_targets).sum())
        return Slots(self.target[:end], self.neighbour[:end], self.edge[:end], self.alpha[:end])
