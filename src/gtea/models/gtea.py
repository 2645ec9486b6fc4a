"""GTEA with its heads: node classification (Eq. 8) and link prediction (Eq. 9)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gtea.config import InputSpec, ModelConfig
from gtea.nn.batch import Batch, PairBatch
from gtea.nn.heads import NodeHead, link_head
from gtea.nn.model import GTEA


class GTEANodeClassifier(nn.Module):
    """Class logits of the seeds of a batch. The initial weights depend on the sizes and the seed alone."""

    def __init__(self, config: ModelConfig, spec: InputSpec, num_classes: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.gtea = GTEA(config, spec, generator)
        self.head = NodeHead(config, num_classes, generator, spec.d_head_inputs, spec.d_neighbour_labels)

    @property
    def embedder(self) -> GTEA:
        """The module that computes the embeddings for the head."""
        return self.gtea

    def forward(self, batch: Batch) -> Tensor:
        """Logits, [num_seeds, num_classes]."""
        return self.answer(self.gtea(batch), batch.head_inputs, batch.tree_inputs)

    def answer(self, z: Tensor, head_inputs: Tensor | None, tree_inputs: Tensor | None = None) -> Tensor:
        """Logits of nodes with these embeddings and head inputs. Only hybrids read tree inputs."""
        logits: Tensor = self.head(z, head_inputs)
        return logits


class GTEALinkNetwork(nn.Module):
    """Link logits of pairs, by Eq. 9 or another head. The initial weights depend on the sizes and the seed alone."""

    def __init__(self, config: ModelConfig, spec: InputSpec, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.gtea = GTEA(config, spec, generator)
        self.head = link_head(config, self.gtea.edge_encoder.d_edge, spec.d_pair_statistics, generator)

    @property
    def reads_history(self) -> bool:
        """Whether batches must include the pairs' own histories."""
        return self.head.reads_history

    def forward(self, pairs: PairBatch) -> Tensor:
        """Logits, [num_pairs]."""
        return self.answer(*self.embed(pairs), pairs.statistics)

    def embed(self, pairs: PairBatch) -> tuple[Tensor, Tensor, Tensor | None]:
        """The embeddings of both ends and, if the batch has them, of the pairs' own histories."""
        z = self.gtea(pairs.batch)
        e_tilde = None if pairs.histories is None else self.gtea.edge_encoder.embed(pairs.histories)
        return z[pairs.src], z[pairs.dst], e_tilde

    def answer(self, z_u: Tensor, z_v: Tensor, e_tilde: Tensor | None, statistics: Tensor | None) -> Tensor:
        """Logits of pairs with these embeddings and statistics."""
        logits: Tensor = self.head(z_u, z_v, e_tilde, statistics)
        return logits
