"""What the model is told about each node itself: its row in the node table, its statistics, a random vector.

``features.nodes`` names any of the three; their columns stand side by side in the order named.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.config import NodeKind
from gtea.errors import ModelError
from gtea.features.account_statistics import statistic_names, statistics
from gtea.features.event_features import columns_of
from gtea.features.neighbour_labels import NeighbourLabels, NeighbourLabelShares
from gtea.features.scaling import ColumnScaler, RankScaler
from gtea.runtime.jit import jit
from gtea.runtime.rng import Purpose, fold, stream
from gtea.store.account_keys import keys_of_nodes
from gtea.store.store import Store
from gtea.store.view import View

_UNIT = 2.0**-53


@dataclass(frozen=True)
class NodePreprocessing:
    """Which features nodes have, and how they are scaled."""

    kinds: tuple[NodeKind, ...]
    given: ColumnScaler | None
    """For columns of the node table. An account without a row has zeros, and 0 in the column ``in_table``."""
    statistics: ColumnScaler | None
    d_random: int

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of ``Batch.node_features``."""
        columns = {
            "given": (*self.given.names, "in_table") if self.given else (),
            "statistics": self.statistics.names if self.statistics else (),
            "random": tuple(f"random_{i}" for i in range(self.d_random)),
        }
        return tuple(name for kind in self.kinds for name in columns[kind])

    def to_json(self) -> dict[str, Any]:
        """As it stands in a model's file."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(content: dict[str, Any]) -> NodePreprocessing:
        """The preprocessing of a model's file."""
        given, statistics = (
            content[kind] and ColumnScaler.from_json(content[kind]) for kind in ("given", "statistics")
        )
        return NodePreprocessing(tuple(content["kinds"]), given, statistics, int(content["d_random"]))


class NodeFeatures:
    """The features of the nodes of one view.

    A row depends on the view and the node alone, so it is kept once computed: a hub's events are read once, and not
    in every batch. The memory for rows that nobody asks for is never touched.
    """

    def __init__(self, view: View, nodes: NodePreprocessing) -> None:
        self._view = view
        self._nodes = nodes
        store = view.store
        if nodes.given:
            self._given = columns_of(node_columns(store), nodes.given.names, "node features")
        if nodes.statistics:
            self._statistics = columns_of(statistic_names(store.features), nodes.statistics.names, "statistics")
        self._rows = np.zeros((store.num_nodes, len(nodes.names)), dtype=np.float32)
        self._known = np.zeros(store.num_nodes, dtype=bool)

    @property
    def width(self) -> int:
        """How many features a node has."""
        return self._rows.shape[1]

    def rows(self, nodes: NDArray[np.int64]) -> NDArray[np.float32]:
        """One row for each node; the columns are ``NodePreprocessing.names``."""
        new = nodes[~self._known[nodes]]
        if len(new):
            self._rows[new] = self.compute(new)
            # After the rows: another thread may look at any moment. That it may compute the same row does no harm.
            self._known[new] = True
        return self._rows[nodes]

    def compute(self, nodes: NDArray[np.int64]) -> NDArray[np.float32]:
        """The same without keeping anything, for whoever asks about each node once."""
        return np.concatenate([self._part(kind, nodes) for kind in self._nodes.kinds], axis=1)

    def _part(self, kind: NodeKind, nodes: NDArray[np.int64]) -> NDArray[np.float32]:
        match kind:
            case "given":
                return self._given_rows(nodes)
            case "statistics":
                assert self._nodes.statistics is not None
                return self._nodes.statistics.transform(statistics(self._view, nodes)[:, self._statistics])
            case "random":
                return random_vectors(keys_of_nodes(self._view.store, nodes), self._nodes.d_random)

    def _given_rows(self, nodes: NDArray[np.int64]) -> NDArray[np.float32]:
        store, scaler = self._view.store, self._nodes.given
        assert store.node_features is not None
        assert store.node_in_table is not None
        assert scaler is not None
        present = store.node_in_table[nodes].astype(np.float32)[:, None]
        scaled = scaler.transform(store.node_features[nodes][:, self._given])
        return np.concatenate([scaled * present, present], axis=1)


def node_columns(store: Store) -> tuple[str, ...]:
    """The names of the columns of a store's node table."""
    described = store.manifest.schema["node_columns"]
    if described is None:
        raise ModelError("node features: the store has no node table. Ingest with --nodes, or don't ask for 'given'.")
    return tuple(described["features"])


def random_vectors(keys: NDArray[np.uint64], size: int) -> NDArray[np.float32]:
    """One row of independent standard normal numbers for each key of ``gtea.store.account_keys``."""
    return _normal(stream(0, Purpose.VECTORS), keys, size)


@jit
def _normal(state: np.uint64, keys: NDArray[np.uint64], size: int) -> NDArray[np.float32]:
    """Box and Muller: two uniform words make two normal numbers."""
    rows = np.empty((len(keys), size), dtype=np.float32)
    for i in range(len(keys)):
        own = fold(state, keys[i])
        for k in range(0, size, 2):
            first, second = fold(own, np.uint64(k)), fold(own, np.uint64(k + 1))
            # (0, 1]: its logarithm is finite.
            radius = math.sqrt(-2 * math.log((np.float64(first >> np.uint64(11)) + 1) * _UNIT))
            angle = 2 * math.pi * (np.float64(second >> np.uint64(11)) * _UNIT)
            rows[i, k] = radius * math.cos(angle)
            if k + 1 < size:
                rows[i, k + 1] = radius * math.sin(angle)
    return rows


class HeadInputs:
    """What only the head reads about an account: rank inputs and neighbour labels, numbers from 0 to 1."""

    def __init__(self, view: View, ranks: RankScaler | None, labels: NeighbourLabels | None) -> None:
        self._ranks = ranks
        self._labels = None if labels is None else NeighbourLabelShares(view, labels)

    def rows(self, nodes: NDArray[np.int64], features: NDArray[np.float32]) -> NDArray[np.float32] | None:
        """One row for each node, [num_nodes, d_ranks]; None where nothing is asked for.

        Args:
            features: What ``NodeFeatures`` says of the nodes.
        """
        parts = [] if self._ranks is None else [self._ranks.transform(features)]
        shares = self.label_shares(nodes)
        if shares is not None:
            parts.append(shares)
        return np.concatenate(parts, axis=1) if parts else None

    def label_shares(self, nodes: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """The last columns alone: the shares of labelled neighbours in each class."""
        # Square roots spread out the small shares that arrive through hubs.
        return None if self._labels is None else np.sqrt(self._labels.rows(nodes)).astype(np.float32)
