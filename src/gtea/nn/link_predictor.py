"""A network for link prediction: GTEA and its head, trained together."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gtea.batch import PairBatch
from gtea.config import InputSpec, ModelConfig
from gtea.nn.heads import link_head
from gtea.nn.model import GTEA


class LinkPredictor(nn.Module):
    """Link logits of pairs, Eq. 9 or a head beyond it. The weights are a pure function of sizes and seed."""

    def __init__(self, config: ModelConfig, spec: InputSpec, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.gtea = GTEA(config, spec, generator)
        self.head = link_head(config, self.gtea.edge_encoder.d_edge, spec.d_pair_statistics, generator)

    @property
    def reads_history(self) -> bool:
        """Whether batches must hold the pairs' own histories."""
        return self.head.reads_history

    def forward(self, pairs: PairBatch) -> Tensor:
        """Logits, [num_pairs]."""
        z = self.gtea(pairs.batch)
        e_tilde = None if pairs.histories is None else self.gtea.edge_encoder.embed(pairs.histories)
        logits: Tensor = self.head(z[pairs.src], z[pairs.dst], e_tilde, pairs.statistics)
        return logits
