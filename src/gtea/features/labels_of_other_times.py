"""Neighbour labels of training accounts, without those of accounts that appeared at about the same time.

In a split by time, an account that is scored has appeared after all labelled ones. Those that appeared with it have no
label yet, and they are often the ones that matter: the members of a ring open their accounts in the same weeks. A
training account that sees the labels of its whole ring teaches a model to wait for something that never comes.

So training accounts are cut into ten groups by the time of their first event, and none sees a label of its own group.
What is scored sees all labels (``gtea.features.neighbour_labels``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gtea.features.neighbour_labels import NeighbourLabelShares, neighbour_labels_of
from gtea.store.view import View

_NUM_GROUPS = 10


class LabelsOfOtherTimes:
    """The class shares of labelled accounts, computed once for all. Called with nodes, it returns their rows."""

    def __init__(
        self, view: View, nodes: NDArray[np.int64], targets: NDArray[np.int64], classes: Sequence[str]
    ) -> None:
        """Compute the rows.

        Args:
            nodes: The labelled accounts in the order of their first events.
            targets: The class of each.
        """
        self._place = np.full(view.store.num_nodes, -1, dtype=np.int64)
        self._place[nodes] = np.arange(len(nodes))
        self._rows = np.zeros((len(nodes), 2 * len(classes)))
        for group in np.array_split(np.arange(len(nodes)), _NUM_GROUPS):
            others = np.delete(np.arange(len(nodes)), group)
            labels = neighbour_labels_of(view.store, nodes[others], targets[others], classes)
            self._rows[group] = NeighbourLabelShares(view, labels).rows(nodes[group])

    def __call__(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """One row per node, which must be one of the labelled accounts; the columns are ``NeighbourLabels.names``."""
        return self._rows[self._place[nodes]]
