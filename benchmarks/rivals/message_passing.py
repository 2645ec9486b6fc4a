"""GTEA with PyG layers: MessagePassing with softmax attention over the distinct edges of the batch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import softmax

from gtea.nn.batch import Batch
from rivals.plain_gtea import MakeEncoder, PlainGTEA


class Layer(MessagePassing):  # type: ignore[misc]
    """Equations 6 and 7 of the paper."""

    def __init__(self, mlp_1: nn.Module, mlp_2: nn.Module) -> None:
        super().__init__(aggr="add", node_dim=0)
        self.mlp_1, self.mlp_2 = mlp_1, mlp_2

    def forward(self, z: Tensor, num_targets: int, pairs: Tensor, e: Tensor, logits: Tensor) -> Tensor:
        """The targets' new embeddings."""
        alpha = softmax(logits, pairs[1], num_nodes=num_targets)
        gathered = self.propagate(pairs, x=(z, z[:num_targets]), e=e, alpha=alpha, size=(len(z), num_targets))
        out: Tensor = self.mlp_2(torch.cat([z[:num_targets], gathered], dim=-1))
        return out

    def message(self, x_j: Tensor, e: Tensor, alpha: Tensor) -> Tensor:
        """The message of a neighbour."""
        out: Tensor = alpha[:, None] * self.mlp_1(torch.cat([x_j, e], dim=-1))
        return out


class PyGGTEA(PlainGTEA):
    """Padded histories, each edge encoded once, PyG layers."""

    def __init__(self, make_encoder: MakeEncoder, d_nodes: int, d_events: int, *, d: int = 64) -> None:
        super().__init__(make_encoder, d_nodes, d_events, d=d)
        self.layers = nn.ModuleList(Layer(*pair) for pair in zip(self.mlp_1, self.mlp_2, strict=True))

    def forward(self, batch: Batch) -> Tensor:
        """Class logits of the seeds."""
        e_tilde, logits = self._encode(batch, torch.arange(batch.histories.num_edges))
        target, position = (batch.edge >= 0).nonzero(as_tuple=True)
        neighbour, edge = batch.neighbour[target, position], batch.edge[target, position]
        z = batch.node_features
        for layer, num_targets in zip(self.layers, reversed(batch.num_within[:-1]), strict=True):
            kept = target < num_targets
            pairs = torch.stack([neighbour[kept], target[kept]])
            z = layer(z, num_targets, pairs, e_tilde[edge[kept]], logits[edge[kept]])
        out: Tensor = self.head(z)
        return out
