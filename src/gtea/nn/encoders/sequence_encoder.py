"""The interface of sequence encoders: ragged histories in, one row per edge out."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn


class SequenceEncoder(nn.Module, ABC):
    """Enc of Eq. 1 and 3: from the events of an edge, in time order, to one vector.

    e_tilde_uv = Enc([e_hat^1_uv, .., e_hat^S_uv])

    The result for an edge depends on its own events only, not on the rest of the batch. An edge without events gets
    zeros. No encoder allocates a tensor of num_edges times the longest history.
    """

    d_edge: int
    """The size of the output."""

    @abstractmethod
    def forward(self, e_hat: Tensor, offset: Tensor) -> Tensor:
        """Encode histories.

        Args:
            e_hat: The events of all edges, concatenated, [num_events, d_in].
            offset: Edge i owns rows offset[i] : offset[i + 1], int64 [num_edges + 1].

        Returns:
            [num_edges, d_edge].
        """

    def encode_both(self, other: SequenceEncoder, e_hat: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
        """Encode the same events by this encoder and another of the same architecture, sharing work where possible."""
        return self(e_hat, offset), other(e_hat, offset)
