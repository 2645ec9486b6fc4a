"""What every sequence encoder promises: ragged histories in, one row per edge out."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn


class SequenceEncoder(nn.Module, ABC):
    """Enc of Eq. 1 and 3: the events of an edge, in time order, become one vector.

    e_tilde_uv = Enc([e_hat^1_uv, .., e_hat^S_uv])

    An edge's vector depends on its own events only, not on its company in the batch. An edge without events gets
    zeros. No encoder ever makes a tensor of num_edges times the longest history.
    """

    d_edge: int
    """Size of what comes out."""

    @abstractmethod
    def forward(self, e_hat: Tensor, offset: Tensor) -> Tensor:
        """Encode histories.

        Args:
            e_hat: The events of all edges, one edge after the other, [num_events, d_in].
            offset: Edge i owns rows offset[i] : offset[i + 1], int64 [num_edges + 1].

        Returns:
            [num_edges, d_edge].
        """

    def beside(self, other: SequenceEncoder, e_hat: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
        """What this encoder and another of the same build make of the same events, together where that is cheaper."""
        return self(e_hat, offset), other(e_hat, offset)

    def encode_both_mirrored(self, other: SequenceEncoder, e_hat: Tensor, offset: Tensor, column: int) -> list[Tensor]:
        """``beside`` of e_hat and, behind it, of e_hat with one column negated. For models at rest: no gradients."""
        return [*self.beside(other, e_hat, offset), *self.beside(other, mirrored(e_hat, column), offset)]


def mirrored(e_hat: Tensor, column: int) -> Tensor:
    """A copy with one column negated."""
    copy = e_hat.clone()
    copy[:, column].neg_()
    return copy
