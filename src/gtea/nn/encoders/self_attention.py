"""Multi-head self-attention over ragged histories, with the heads averaged.

In the lower layers of a Transformer every event attends to every other, and only there a rectangular layout is worth
its padding. ``length_buckets`` groups histories of similar length and pads them to at most twice their length.
Everything else in this package is ragged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from gtea.nn.groups import SegmentGroups
from gtea.nn.kernels import kernels_for
from gtea.nn.linear import uniform
from gtea.nn.normalisers import softmax
from gtea.nn.segments import segment_sum

MAX_CELLS = 1 << 20
"""The maximum of num_histories * longest^2 in a bucket of several histories; bounds the attention matrices."""


class SelfAttention(nn.Module):
    """Scaled dot-product attention of Appendix 2.1, averaged over heads.

    Q_j = E W_Qj,  K_j = E W_Kj,  V_j = E W_Vj
    E_tilde = 1/H sum_j softmax(Q_j K_j^T / sqrt(d_query)) V_j

    Each head's values have the full size d_edge, so that heads can be averaged. Queries and keys are split among the
    heads as in Vaswani et al.: d_query = d_edge / H, the paper's D_E ("the hidden dimensions of a query vector"). The
    weighted sum is linear, so W_V is applied to it instead of to every event.
    """

    def __init__(self, d_edge: int, num_heads: int, generator: torch.Generator) -> None:
        super().__init__()
        self.num_heads, self.d_query = num_heads, d_edge // num_heads
        bound = d_edge**-0.5
        self.w_q = uniform(d_edge, d_edge, bound=bound, generator=generator)
        self.w_k = uniform(d_edge, d_edge, bound=bound, generator=generator)
        self.w_v = uniform(num_heads, d_edge, d_edge, bound=bound, generator=generator)

    def forward(self, e: Tensor, offset: Tensor) -> Tensor:
        """All rows of E_tilde, [num_events, d_edge]: every event attends to its history, O(S^2) per history."""
        q, k = self._heads(e @ self.w_q), self._heads(e @ self.w_k)
        rows, summed = [e.new_empty(0, dtype=torch.int64)], [e.new_empty(0, self.num_heads, e.shape[1])]
        for bucket in length_buckets(offset):
            attended = scaled_dot_product_attention(
                q[bucket.row].transpose(1, 2),
                k[bucket.row].transpose(1, 2),
                e[bucket.row][:, None].expand(-1, self.num_heads, -1, -1),
                attn_mask=bucket.mask[:, None, None, :],
            )
            rows.append(bucket.row[bucket.mask])
            summed.append(attended.transpose(1, 2)[bucket.mask])
        return self._mean_of_values(torch.cat(summed)[torch.cat(rows).argsort()])

    def last_row(self, e: Tensor, offset: Tensor, edge: Tensor) -> Tensor:
        """The last row of E_tilde of each history, [num_edges, d_edge], O(S) per history. No history may be empty.

        Args:
            edge: The history of each event, ``segment_ids(offset, len(e))``.
        """
        q, k = self._heads(e[offset[1:] - 1] @ self.w_q), self._heads(e @ self.w_k)
        compiled = kernels_for(e, self.w_q)
        if compiled is not None:
            return self._mean_of_values(compiled.attend_last(q, k, e, offset))
        return self._mean_of_values(attend_last(q, k, e, offset, edge))

    def _heads(self, joined: Tensor) -> Tensor:
        return joined.view(len(joined), self.num_heads, self.d_query)

    def _mean_of_values(self, summed: Tensor) -> Tensor:
        """1/H sum_j summed_j W_Vj of [num_rows, H, d_edge], as one matrix product over heads and features."""
        return summed.flatten(1) @ self.w_v.flatten(0, 1) / self.num_heads


def attend_last(q: Tensor, k: Tensor, e: Tensor, offset: Tensor, edge: Tensor) -> Tensor:
    """softmax(q k^T / sqrt(d_query)) e of each history and head, [num_edges, num_heads, d], without the kernels."""
    num_edges, num_heads, d_query = q.shape
    logit = (q.index_select(0, edge) * k).sum(-1) * d_query**-0.5
    weight = softmax(logit, SegmentGroups(offset, len(e), edge))
    # Head by head: one product for all heads would be H times the size of e, and twice as slow due to page faults.
    summed = [segment_sum(weight[:, head, None] * e, edge, num_edges) for head in range(num_heads)]
    return torch.stack(summed, dim=1)


@dataclass(frozen=True)
class Bucket:
    """Histories of similar length as a padded table of event rows."""

    row: Tensor  # int64 [num_histories, longest]; a valid row number in the padding
    mask: Tensor  # bool [num_histories, longest]; False in the padding


def length_buckets(offset: Tensor) -> Iterator[Bucket]:
    """Split histories by length: 1, 2, 3..4, 5..8 and so on. Histories without events are left out."""
    length = offset.diff()
    longest = int(length.max()) if len(length) else 0
    for bit in range((longest - 1).bit_length() + 1 if longest else 0):
        members = ((length <= 1 << bit) & (length > (1 << bit) // 2)).nonzero().squeeze(1)
        for chunk in torch.split(members, max(1, MAX_CELLS >> 2 * bit)):
            if len(chunk):
                yield _bucket(offset[:-1][chunk], length[chunk])


def _bucket(start: Tensor, length: Tensor) -> Bucket:
    position = torch.arange(int(length.max()), device=start.device)
    mask = position < length[:, None]
    return Bucket(start[:, None] + position * mask, mask)
