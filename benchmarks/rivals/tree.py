"""A batch as trees of neighbours below each seed, as in research code.

There is no deduplication: a node that occurs five times counts as five nodes, and its edges are encoded five times.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gtea.nn.batch import Batch


@dataclass(frozen=True)
class Level:
    """The neighbours of all nodes at one depth, as tensors [num_parents, fanout]."""

    node: Tensor
    """Row in the batch's node features; 0 for missing neighbours."""
    edge: Tensor
    """Index of the history; 0 for missing neighbours."""
    mask: Tensor
    """Which neighbours exist."""


def levels(batch: Batch) -> list[Level]:
    """The levels of the tree, starting with the neighbours of the seeds."""
    parents = torch.arange(batch.num_within[0])
    tree = []
    for _ in range(batch.num_layers):
        edge = batch.edge[parents]
        level = Level(batch.neighbour[parents].clamp(min=0), edge.clamp(min=0), edge >= 0)
        tree.append(level)
        parents = level.node.flatten()
    return tree
