"""GTEA_HE: handcrafted statistics of an edge's history."""

from __future__ import annotations

import torch
from torch import Tensor

from gtea.nn.encoders.sequence_encoder import SequenceEncoder
from gtea.nn.segments import segment_ids, segment_max, segment_sum


class StatisticsEncoder(SequenceEncoder):
    """Mean, minimum, maximum and standard deviation of each event feature over the history (Appendix 3.2).

    Nothing is learnt, and the order of the events does not matter. The standard deviation is that of the population:
    zero for a single event, where the sample standard deviation is undefined.

    The paper doesn't say what Enc_a is in this variant. We follow its "We align Enc_a with Enc_i": the attention logit
    is a linear function of the same statistics.
    """

    def __init__(self, d_in: int) -> None:
        super().__init__()
        self.d_edge = 4 * d_in

    def forward(self, e_hat: Tensor, offset: Tensor) -> Tensor:
        """[mean || min || max || std] of each history, [num_edges, 4 d_in]."""
        num_edges = len(offset) - 1
        edge = segment_ids(offset, len(e_hat))
        count = offset.diff().clamp(min=1)[:, None].to(e_hat.dtype)
        mean = segment_sum(e_hat, edge, num_edges) / count
        # Two passes: the difference of mean squares loses all digits if amounts are large and similar.
        variance = segment_sum((e_hat - mean.index_select(0, edge)).square(), edge, num_edges) / count
        smallest = -segment_max(-e_hat, edge, num_edges)
        largest = segment_max(e_hat, edge, num_edges)
        return torch.cat([mean, smallest, largest, _root(variance)], dim=-1)


def _root(variance: Tensor) -> Tensor:
    """The square root, with gradient 0 instead of infinity at 0: single-event histories have variance 0."""
    positive = variance > 0
    return torch.where(positive, torch.where(positive, variance, 1.0).sqrt(), 0.0)
