"""How much a model looks at whom: the exact attention weights of nodes, over all their neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.nn.groups import SegmentGroups
from gtea.runtime.progress import Progress, no_progress
from gtea.sampling.collate import HistoryReader
from gtea.sampling.subgraph import full_subgraph
from gtea.scoring.edge_pass import EdgePass
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.store import Store


@dataclass(frozen=True)
class AttentionWeights:
    """The weights of each node's neighbours: node i owns those from ``offset[i]`` to before ``offset[i + 1]``."""

    nodes: NDArray[np.int64]
    offset: NDArray[np.int64]
    neighbour: NDArray[np.int64]
    """The number of each neighbour in the store."""
    alpha: NDArray[np.float64]
    """Eq. 5: not negative, one in sum for a node with neighbours."""


@torch.inference_mode()
def attention_of(
    model: NodeModel | LinkModel, store: Store, cut: int, nodes: NDArray[np.int64], progress: Progress = no_progress
) -> AttentionWeights:
    """The weights with which a GTEA at rest aggregates the neighbours of nodes, as of a cut.

    They don't depend on the layer, nor on what lies beyond the neighbours.

    Args:
        nodes: Each at most once.
    """
    reader = HistoryReader(store.as_of(cut), model.preprocessing, model.config.sampling.max_events)
    edges = EdgePass(model.gtea.edge_encoder, reader, model.device)
    around = full_subgraph(reader.graph, nodes, num_hops=1)
    logits = edges.weigh(*around.slots_of(range(len(nodes))), lambda done: progress("weighing edges", done))
    alpha = model.gtea.normaliser(logits, SegmentGroups(torch.from_numpy(around.offset), len(logits)))
    return AttentionWeights(nodes, around.offset, around.nodes[around.neighbour], alpha.double().numpy())
