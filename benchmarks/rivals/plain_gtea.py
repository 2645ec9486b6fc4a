"""GTEA as in research code: trees of neighbours and padded histories, without deduplication."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from gtea.nn.batch import Batch
from rivals.tree import levels

MakeEncoder = Callable[[int, int], nn.Module]


def sparsemax(logits: Tensor, mask: Tensor) -> Tensor:
    """Sparsemax along the last dimension (Algorithm 1 of the paper)."""
    logits = logits.masked_fill(~mask, -1e9)
    ordered = logits.sort(dim=-1, descending=True).values
    count = torch.arange(1, logits.shape[-1] + 1)
    total = ordered.cumsum(-1)
    size = (1 + count * ordered > total).sum(-1, keepdim=True)
    threshold = (total.gather(-1, size - 1) - 1) / size
    return (logits - threshold).clamp(min=0) * mask


class PlainGTEA(nn.Module):
    """Equations 1 to 7 of the paper over trees of neighbours, with a linear head."""

    def __init__(
        self, make_encoder: MakeEncoder, d_nodes: int, d_events: int, *, d: int = 64, d_time: int = 16, layers: int = 2
    ) -> None:
        super().__init__()
        self.omega, self.phi = nn.Parameter(torch.rand(d_time)), nn.Parameter(torch.rand(d_time))
        self.enc_i, self.enc_a = (make_encoder(d_events + d_time, d) for _ in range(2))
        self.a = nn.Parameter(torch.randn(d) / d**0.5)
        widths = [d_nodes, *[d] * (layers - 1)]
        self.mlp_1 = nn.ModuleList(_mlp(width + d, d) for width in widths)
        self.mlp_2 = nn.ModuleList(_mlp(width + d, d) for width in widths)
        self.head = nn.Linear(d, 2)

    def forward(self, batch: Batch) -> Tensor:
        """Class logits of the seeds."""
        tree = levels(batch)
        edges = torch.cat([level.edge.flatten() for level in tree])
        e_tilde, logits = self._encode(batch, edges)
        sizes = [level.edge.numel() for level in tree]
        embeddings = [
            part.view(*level.edge.shape, -1) for part, level in zip(torch.split(e_tilde, sizes), tree, strict=True)
        ]
        alpha = [
            sparsemax(part.view(level.edge.shape), level.mask)
            for part, level in zip(torch.split(logits, sizes), tree, strict=True)
        ]
        # One tensor per depth: the seeds, their neighbours, the neighbours of those, ...
        z = [batch.node_features[: batch.num_within[0]], *(batch.node_features[level.node.flatten()] for level in tree)]
        for mlp_1, mlp_2 in zip(self.mlp_1, self.mlp_2, strict=True):
            z = [
                mlp_2(torch.cat([own, self._aggregate(mlp_1, below, e, weight)], dim=-1))
                for own, below, e, weight in zip(z[:-1], z[1:], embeddings, alpha, strict=False)
            ]
        out: Tensor = self.head(z[0])
        return out

    def _encode(self, batch: Batch, edges: Tensor) -> tuple[Tensor, Tensor]:
        histories = batch.histories
        phase = histories.time[:, None] * self.omega + self.phi
        e_hat = torch.cat([phase[:, :1], phase[:, 1:].cos(), histories.features], dim=-1)
        start, length = histories.offset[:-1][edges], histories.offset.diff()[edges]
        return self.enc_i(e_hat, start, length), self.enc_a(e_hat, start, length) @ self.a

    @staticmethod
    def _aggregate(mlp_1: nn.Module, below: Tensor, e: Tensor, weight: Tensor) -> Tensor:
        joined = torch.cat([below.view(*e.shape[:2], -1), e], dim=-1)
        summed: Tensor = (weight[..., None] * mlp_1(joined)).sum(1)
        return summed


def _mlp(d_in: int, d: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(d_in, d), nn.ReLU(), nn.Linear(d, d))
