"""The labels that a model knows: those it was trained with, by account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gtea.features.neighbour_labels import NeighbourLabels
from gtea.store.account_keys import keys_of_nodes
from gtea.store.store import Store


@dataclass(frozen=True)
class KnownLabels:
    """Looks up the labels of accounts of a store."""

    store: Store
    labels: NeighbourLabels | None
    """None if the model does not read the labels of neighbours: then it keeps none."""

    def of(self, nodes: Sequence[int]) -> list[str | None]:
        """The label of each node, or None."""
        if self.labels is None or not len(nodes):
            return [None] * len(nodes)
        keys = np.array(self.labels.keys, dtype=np.uint64)
        wanted = keys_of_nodes(self.store, np.asarray(nodes, dtype=np.int64))
        places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = keys[places] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
        return [
            self.labels.classes[self.labels.targets[place]] if hit else None
            for place, hit in zip(places.tolist(), found.tolist(), strict=True)
        ]
