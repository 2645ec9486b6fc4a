"""A batch as research code sees it: a tree of neighbours below each seed, in which everything is repeated.

Nobody is recognised: a node that is met five times is five nodes, and its edges are encoded five times.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gtea.nn.batch import Batch


@dataclass(frozen=True)
class Level:
    """The neighbours of all the tree's nodes at one depth, [num_parents, fanout] each."""

    node: Tensor
    """Row of the batch's node features; 0 where there is no neighbour."""
    edge: Tensor
    """Which history; 0 where there is no neighbour."""
    real: Tensor


def levels(batch: Batch) -> list[Level]:
    """The tree, from the seeds' neighbours outwards."""
    parents = torch.arange(batch.num_within[0])
    found = []
    for _ in range(batch.num_layers):
        edge = batch.edge[parents]
        level = Level(batch.neighbour[parents].clamp(min=0), edge.clamp(min=0), edge >= 0)
        found.append(level)
        parents = level.node.flatten()
    return found
