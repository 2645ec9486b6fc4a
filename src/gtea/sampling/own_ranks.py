"""What the head alone is told about an account itself: ranks of its features, and the classes known around it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gtea.sampling.known import KnownNeighbours
from gtea.sampling.preprocessing import Preprocessing
from gtea.store.view import View


class OwnRanks:
    """Numbers from 0 to 1 for the nodes of one view."""

    def __init__(self, view: View, preprocessing: Preprocessing) -> None:
        self._of_features = preprocessing.ranks
        self._known = None if preprocessing.known is None else KnownNeighbours(view, preprocessing.known)

    def rows(self, nodes: NDArray[np.int64], features: NDArray[np.float32]) -> NDArray[np.float32] | None:
        """One row for each node, [num_nodes, d_ranks]; None where nothing is asked for.

        Args:
            features: What ``NodeFeatures`` says of the nodes.
        """
        parts = [] if self._of_features is None else [self._of_features.transform(features)]
        around = self.around(nodes)
        if around is not None:
            parts.append(around)
        return np.concatenate(parts, axis=1) if parts else None

    def around(self, nodes: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """The last columns alone: the classes known around each node."""
        # Roots: what a hub passes on from one partner to the next is a sliver, and slivers differ.
        return None if self._known is None else np.sqrt(self._known.rows(nodes)).astype(np.float32)
