"""The nodes that attention reaches from some seeds, hop by hop.

Neighbours of weight zero contribute nothing, so neither they nor anything beyond them is followed: two accounts beside
a hub of millions reach the few of its neighbours that the hub attends to.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.nn.full_graph import Run, SummedRun
from gtea.sampling.subgraph import FullSubgraph


class AttendedSubgraph:
    """Nodes in the order of their discovery. Those found last are the ring, whose neighbours are followed next."""

    def __init__(self, num_nodes: int, seeds: NDArray[np.int64]) -> None:
        self.nodes = seeds
        self.num_within: tuple[int, ...] = (len(seeds),)
        """The number of nodes within 0, 1, .. hops."""
        # Each node's index plus 1, because zeros take no memory until they are written to.
        self._position = np.zeros(num_nodes, dtype=np.int32)
        self._position[seeds] = np.arange(1, len(seeds) + 1)

    @property
    def ring(self) -> NDArray[np.int64]:
        """The nodes found last."""
        first = self.num_within[-2] if len(self.num_within) > 1 else 0
        return self.nodes[first:]

    def follow(self, ring: FullSubgraph, runs: list[Run]) -> list[Run]:
        """Add the nodes that are read by the runs of a ring, and return the runs in terms of all nodes.

        Args:
            ring: The ring and all its neighbours. The neighbours of summed runs are not followed.
        """
        first = len(self.nodes) - ring.num_within[0]
        read = np.zeros(len(ring.nodes), dtype=np.bool_)
        for run in runs:
            if not isinstance(run, SummedRun):
                read[run.slots.neighbour.numpy()] = True
        found = ring.nodes[read]
        new = found[self._position[found] == 0]
        self._position[new] = np.arange(len(self.nodes) + 1, len(self.nodes) + len(new) + 1)
        self.nodes = np.concatenate([self.nodes, new])
        self.num_within += (len(self.nodes),)
        place = self._position[ring.nodes].astype(np.int64) - 1
        return [_moved(run, first, place) for run in runs]


def _moved(run: Run, first: int, place: NDArray[np.int64]) -> Run:
    """A run whose targets start at ``first``, with the places of its neighbours among all nodes."""
    targets = range(run.targets.start + first, run.targets.stop + first)
    if isinstance(run, SummedRun):
        return replace(run, targets=targets)
    neighbour = torch.from_numpy(place[run.slots.neighbour.numpy()])
    return replace(run, targets=targets, slots=replace(run.slots, neighbour=neighbour))
