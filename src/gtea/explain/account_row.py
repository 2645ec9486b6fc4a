"""The row of an account in the attention: its slots, encoded once, and their weights in alternative pasts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import from_numpy

from gtea.explain.changed_edge import ChangedEdge
from gtea.explain.encoded_view import EncodedView, ignore
from gtea.nn.groups import DenseGroups

CELLS = 1 << 17
"""How many attention weights are computed at a time: what follows from them fits into the cache."""


class AccountRow:
    """The slots of one account: their encodings, and the attention it gives them in alternative pasts."""

    def __init__(self, around: EncodedView, node: int) -> None:
        self.node = node
        self.around = around
        self.layers = around.layers
        slots = around.slots_of(node)
        rows = around.edges.encode(slots, np.full(len(slots), node), ignore)
        self.neighbour = around.graph.slot_neighbour[slots].astype(np.int64)
        self.edge = around.graph.slot_edge[slots]
        self._e_tilde, self._logits = rows.e_tilde.double(), rows.alpha_tilde.double()
        self.weights = self.attention(np.ones((1, len(slots)), dtype=bool), ())[0]
        """The attention weight of each of its slots."""
        self.of_edge = [layer.of_edge(self._e_tilde) for layer in self.layers]
        self.hidden = torch.relu(self.layers[0].of_node(around.z_0_of(self.neighbour)) + self.of_edge[0])
        self.has_doubles = len(np.unique(self.neighbour)) < len(slots)

    def attended(self, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The neighbours of the account to which it gives a weight in any of the alternatives."""
        found = np.zeros(len(self.neighbour), dtype=bool)
        size = max(1, CELLS // max(1, kept.shape[1]))
        for first in range(0, len(kept), size):
            found |= (self.attention(kept[first : first + size], ()) != 0).any(axis=0)
        return np.unique(self.neighbour[found])

    def attention(self, kept: NDArray[np.bool_], changed: Sequence[ChangedEdge]) -> NDArray[np.float64]:
        """Eq. 5 over the slots that are left. Only rows that lose a weight are normalised anew."""
        if not kept.size:
            return np.zeros(kept.shape)
        logits = self._logits.expand(len(kept), -1)
        if changed:
            logits = logits.clone()
            for edge in changed:
                logits[:, edge.slot] = edge.alpha_tilde
            return np.asarray(self.around.normaliser(logits, DenseGroups(from_numpy(kept))).numpy())
        whole = torch.ones(1, kept.shape[1], dtype=torch.bool)
        base = self.around.normaliser(logits[:1], DenseGroups(whole)).numpy()
        alpha = np.repeat(base, len(kept), axis=0)
        again = (~kept & (base != 0)).any(axis=1)
        mask = from_numpy(kept[again])
        alpha[again] = self.around.normaliser(logits[: len(mask)], DenseGroups(mask)).numpy()
        return alpha
