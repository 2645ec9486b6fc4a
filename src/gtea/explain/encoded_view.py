"""What a network reads around accounts of one view, encoded once and kept for further accounts.

Sums are in float64: corrections of them would otherwise cost the digits that are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, from_numpy

from gtea.explain.split_layer import split_layers
from gtea.features.node_features import NodeFeatures
from gtea.nn.groups import SegmentGroups
from gtea.nn.model import GTEA, AggregationLayer
from gtea.nn.segments import segment_sum
from gtea.sampling.collate import HistoryReader
from gtea.sampling.subgraph import full_subgraph
from gtea.scoring.edge_pass import EdgePass

_MAX_KEPT = 1 << 19
"""How many neighbours the rows that are kept may have: some hundred megabytes."""


@dataclass(frozen=True)
class AttendedRow:
    """The neighbours to which one node gives a weight, and layer 1 of the node."""

    neighbour: NDArray[np.int64]
    of_edge: Tensor
    alpha: Tensor
    before: Tensor
    """Layer 1's units before the last activation."""


class EncodedView:
    """What the network reads around accounts of one view, encoded once and kept for further accounts."""

    def __init__(self, gtea: GTEA, reader: HistoryReader, features: NodeFeatures, device: torch.device) -> None:
        self.graph, self.reader, self.device = reader.graph, reader, device
        self.edges = EdgePass(gtea.edge_encoder, reader, device)
        self.normaliser = gtea.normaliser
        self.layers = split_layers([cast(AggregationLayer, layer) for layer in gtea.layers])
        self._gtea = gtea
        self._features = features
        self._rows: dict[int, AttendedRow] = {}
        self._num_kept = 0

    def z_0(self, x: NDArray[np.float32]) -> Tensor:
        """z^(0) of nodes with features x."""
        return self._gtea.initial_embeddings(from_numpy(x)).double()

    def z_0_of(self, nodes: NDArray[np.integer[Any]]) -> Tensor:
        """z^(0) of nodes as they are."""
        return self.z_0(self._features.rows(nodes.astype(np.int64)))

    def slots_of(self, node: int) -> NDArray[np.int64]:
        """The slots of a node before the cut."""
        return full_subgraph(self.graph, np.array([node]), 1).slot

    def rows(self, nodes: NDArray[np.int64]) -> list[AttendedRow]:
        """The rows of nodes, from the cache if possible."""
        if self._num_kept > _MAX_KEPT:
            self._rows.clear()
            self._num_kept = 0
        new = np.array([node for node in nodes if int(node) not in self._rows], dtype=np.int64)
        if len(new):
            rows = self._read_rows(new)
            self._num_kept += sum(len(row.neighbour) for row in rows)
            self._rows.update(zip(new.tolist(), rows, strict=True))
        return [self._rows[int(node)] for node in nodes]

    def _read_rows(self, nodes: NDArray[np.int64]) -> list[AttendedRow]:
        subgraph = full_subgraph(self.graph, nodes, 1)
        slot, seen_from = subgraph.slots_of(range(len(nodes)))
        offset = from_numpy(subgraph.offset)
        logits = self.edges.weigh(slot, seen_from, ignore)
        alpha = self.normaliser(logits, SegmentGroups(offset, len(logits))).double()
        left = alpha.nonzero().squeeze(1).numpy()
        e_tilde = self.edges.embed(slot[left], seen_from[left], ignore).double()
        neighbour, alpha = subgraph.nodes[subgraph.neighbour[left]], alpha[from_numpy(left)]
        layer, of_edge = self.layers[0], self.layers[0].of_edge(e_tilde)
        hidden = torch.relu(layer.of_node(self.z_0_of(neighbour)) + of_edge)
        ends = np.searchsorted(left, subgraph.offset)
        owner = torch.repeat_interleave(from_numpy(np.diff(ends)))
        total = segment_sum(alpha[:, None] * hidden, owner, len(nodes))
        before = layer.before(self.z_0_of(nodes), total, segment_sum(alpha, owner, len(nodes)))
        parts = [slice(int(start), int(stop)) for start, stop in pairwise(ends)]
        return [AttendedRow(neighbour[part], of_edge[part], alpha[part], before[i]) for i, part in enumerate(parts)]


def ignore(done: float) -> None:
    """Encoding around one account takes no time to speak of."""
