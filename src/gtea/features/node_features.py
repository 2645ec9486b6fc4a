"""Node features: columns of the node table, statistics and random vectors; and the extra inputs of the head.

``features.nodes`` selects any of ``given``, ``statistics``, ``random``, ``partners`` and ``rhythm``. Their columns are
concatenated in the order named.

A random vector is a pure function of the account's id. It lets a network tell accounts apart, and a new account has
one too. It does not depend on the run's seed, so a model can be moved between stores and machines.

``HeadInputs`` are read by the head alone: ranks of the account's own features (rank inputs) and neighbour labels.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.config import NodeKind
from gtea.errors import ModelError
from gtea.features.account_statistics import statistic_names, statistics
from gtea.features.alternatives import Alternatives
from gtea.features.event_features import columns_of
from gtea.features.neighbour_labels import NeighbourLabels, NeighbourLabelShares
from gtea.features.partner_statistics import PartnerStatistics, partner_statistic_names
from gtea.features.partners_without import partner_rows_without
from gtea.features.removals import Removals
from gtea.features.rhythm_statistics import rhythm_statistic_names, rhythm_statistics
from gtea.features.scaling import ColumnScaler, RankScaler
from gtea.runtime.jit import jit
from gtea.runtime.rng import Purpose, fold, stream
from gtea.store.account_keys import keys_of_nodes
from gtea.store.store import Store
from gtea.store.view import View

CONTEXT_KINDS: tuple[NodeKind, ...] = ("partners", "rhythm")
"""Features beyond an account's own totals. Their columns come after all others."""
Statistics = Callable[[NDArray[np.int64]], NDArray[np.float64]]
"""From nodes to one row each."""
_UNIT = 2.0**-53
"""Turns 53 random bits into a float in [0, 1)."""


@dataclass(frozen=True)
class NodePreprocessing:
    """Which node features the model reads, and how they are scaled."""

    kinds: tuple[NodeKind, ...]
    given: ColumnScaler | None
    """Scales the columns of the node table. An account without a row has zeros, and 0 in the column ``in_table``."""
    statistics: ColumnScaler | None
    d_random: int
    partners: ColumnScaler | None = None
    rhythm: ColumnScaler | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The column names of ``Batch.node_features``."""
        return tuple(name for kind in self.kinds for name in self._names(kind))

    @property
    def d_own(self) -> int:
        """The number of columns that are neither of partners nor of rhythm, which come last."""
        return sum(len(self._names(kind)) for kind in self.kinds if kind not in CONTEXT_KINDS)

    def _names(self, kind: NodeKind) -> tuple[str, ...]:
        match kind:
            case "given":
                return (*self.given.names, "in_table") if self.given else ()
            case "random":
                return tuple(f"random_{i}" for i in range(self.d_random))
            case _:
                scaler: ColumnScaler | None = getattr(self, kind)
                return scaler.names if scaler else ()

    def to_json(self) -> dict[str, Any]:
        """For the model's preprocessing.json."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(content: dict[str, Any]) -> NodePreprocessing:
        """From a model's preprocessing.json."""
        given, statistics, partners, rhythm = (
            content.get(kind) and ColumnScaler.from_json(content[kind])
            for kind in ("given", "statistics", "partners", "rhythm")
        )
        kinds, d_random = tuple(content["kinds"]), int(content["d_random"])
        return NodePreprocessing(kinds, given, statistics, d_random, partners, rhythm)


class NodeFeatures:
    """Computes the node features of one view.

    A row depends on the view and the node alone, so rows are cached: a hub's events are read once, not in every batch.
    The cache is allocated with zeros, and rows that are never requested take no physical memory.
    """

    def __init__(
        self, view: View, nodes: NodePreprocessing, partners: Statistics | None = None, *, cached: bool = True
    ) -> None:
        """Prepare the features of a view.

        Args:
            partners: What computes raw partner statistics of nodes; None reads them from the view.
            cached: Whether ``rows`` keeps what it has computed, in an array as long as all accounts.
        """
        self._view = view
        self._nodes = nodes
        store = view.store
        if nodes.given:
            self._given = columns_of(node_columns(store), nodes.given.names, "node features")
        if nodes.statistics:
            self._statistics = columns_of(statistic_names(store.features), nodes.statistics.names, "statistics")
        if nodes.partners:
            self._partner_columns = columns_of(
                partner_statistic_names(store.features), nodes.partners.names, "statistics"
            )
            if partners is None:
                self._partners = PartnerStatistics(view)
            self._of_partners = partners or self._partners.rows
        if nodes.rhythm:
            self._rhythm = columns_of(rhythm_statistic_names(store.features), nodes.rhythm.names, "statistics")
        self._cached = cached
        self._make_cache(store.num_nodes)

    def renew(self, view: View, changed: NDArray[np.int64]) -> None:
        """Go over to a view with more events. The changed nodes are those that have them, and new ones."""
        self._view = view
        if self._cached and (self._in_use or view.store.num_nodes > len(self._computed)):
            self._make_cache(2 * view.store.num_nodes)
        if self._nodes.partners:
            self._partners.renew(view, changed)

    def _make_cache(self, num_nodes: int) -> None:
        num_rows = num_nodes if self._cached else 0
        self._rows = np.zeros((num_rows, self.width), dtype=np.float32)
        self._computed = np.zeros(num_rows, dtype=bool)
        self._in_use = False

    @property
    def width(self) -> int:
        """The number of features per node."""
        return len(self._nodes.names)

    def rows(self, nodes: NDArray[np.int64]) -> NDArray[np.float32]:
        """One row per node; the columns are ``NodePreprocessing.names``."""
        if not self._cached:
            return self.compute(nodes)
        self._in_use = True
        new = nodes[~self._computed[nodes]]
        if len(new):
            self._rows[new] = self.compute(new)
            # Set after the rows, because other threads read both. If two threads compute the same row, no harm is done.
            self._computed[new] = True
        return self._rows[nodes]

    def compute(self, nodes: NDArray[np.int64]) -> NDArray[np.float32]:
        """Like ``rows``, without the cache: for callers that read each node once."""
        return np.concatenate([self._part(kind, nodes) for kind in self._nodes.kinds], axis=1)

    def compute_in(self, accounts: Alternatives | Removals, partner: Alternatives | None = None) -> NDArray[np.float32]:
        """The rows of alternatives to accounts. Their neighbours are as in the view, but for one.

        Args:
            accounts: Any alternatives, or those of one account without whole neighbours, which is faster.
            partner: Alternatives to one neighbour, as many: the neighbour of each alternative to the account.
        """
        return np.concatenate([self._part_in(kind, accounts, partner) for kind in self._nodes.kinds], axis=1)

    def _part_in(
        self, kind: NodeKind, accounts: Alternatives | Removals, partner: Alternatives | None
    ) -> NDArray[np.float32]:
        scaler: ColumnScaler | None = getattr(self._nodes, kind, None)
        match kind:
            case "statistics":
                raw = accounts.statistics[:, self._statistics]
            case "partners":
                rows = (
                    partner_rows_without(self._partners, accounts)
                    if isinstance(accounts, Removals)
                    else self._partners.rows_in(accounts, partner)
                )
                raw = rows[:, self._partner_columns]
            case "rhythm":
                raw = accounts.rhythm[:, self._rhythm]
            case _:
                return self._part(kind, accounts.original)
        assert scaler is not None
        return scaler.transform(raw)

    def _part(self, kind: NodeKind, nodes: NDArray[np.int64]) -> NDArray[np.float32]:
        match kind:
            case "given":
                return self._given_rows(nodes)
            case "statistics":
                assert self._nodes.statistics is not None
                return self._nodes.statistics.transform(statistics(self._view, nodes)[:, self._statistics])
            case "partners":
                assert self._nodes.partners is not None
                return self._nodes.partners.transform(self._of_partners(nodes)[:, self._partner_columns])
            case "rhythm":
                assert self._nodes.rhythm is not None
                return self._nodes.rhythm.transform(rhythm_statistics(self._view, nodes)[:, self._rhythm])
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
    """The column names of a store's node table."""
    described = store.manifest.schema["node_columns"]
    if described is None:
        raise ModelError(
            "node features: the store has no node table. Ingest with --nodes, or leave 'given' out of features.nodes."
        )
    return tuple(described["features"])


def random_vectors(keys: NDArray[np.uint64], size: int) -> NDArray[np.float32]:
    """One row of independent standard normal numbers per key of ``gtea.store.account_keys``."""
    return _normal(stream(0, Purpose.VECTORS), keys, size)


@jit
def _normal(state: np.uint64, keys: NDArray[np.uint64], size: int) -> NDArray[np.float32]:
    """Box-Muller transform: two uniform numbers make two normal ones."""
    rows = np.empty((len(keys), size), dtype=np.float32)
    for i in range(len(keys)):
        own = fold(state, keys[i])
        for k in range(0, size, 2):
            first, second = fold(own, np.uint64(k)), fold(own, np.uint64(k + 1))
            # In (0, 1], so that the logarithm is finite.
            radius = math.sqrt(-2 * math.log((np.float64(first >> np.uint64(11)) + 1) * _UNIT))
            angle = 2 * math.pi * (np.float64(second >> np.uint64(11)) * _UNIT)
            rows[i, k] = radius * math.cos(angle)
            if k + 1 < size:
                rows[i, k + 1] = radius * math.sin(angle)
    return rows


class HeadInputs:
    """Computes the inputs that only the head reads: rank inputs and neighbour labels, numbers from 0 to 1."""

    def __init__(
        self, view: View, ranks: RankScaler | None, labels: NeighbourLabels | None, shares: Statistics | None = None
    ) -> None:
        """Prepare the inputs of a view.

        Args:
            shares: What computes the class shares of nodes; None reads them from the view.
        """
        self._ranks = ranks
        self._labels = None if labels is None or shares else NeighbourLabelShares(view, labels)
        self._shares = shares or (self._labels.rows if self._labels else None)

    def renew(self, view: View, changed: NDArray[np.int64]) -> None:
        """Go over to a view with more events; see ``NodeFeatures.renew``."""
        if self._labels is not None:
            self._labels.renew(view, changed)

    def rows(self, nodes: NDArray[np.int64], features: NDArray[np.float32]) -> NDArray[np.float32] | None:
        """One row per node, [num_nodes, d_head_inputs]; None if the model has no head inputs.

        Args:
            features: The rows of ``NodeFeatures`` for these nodes.
        """
        return self.joined(features, self.label_shares(nodes))

    def label_shares(self, nodes: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """The neighbour label columns alone, which are the last ones; None if the model has none."""
        # Square roots spread out the small shares that hubs contribute.
        return None if self._shares is None else np.sqrt(self._shares(nodes)).astype(np.float32)

    def label_shares_in(
        self, accounts: Alternatives | Removals, partner: Alternatives | None = None
    ) -> NDArray[np.float32] | None:
        """The same of alternatives to accounts; see ``NodeFeatures.compute_in``."""
        if self._labels is None:
            return None
        if isinstance(accounts, Removals):
            return np.sqrt(self._labels.rows_without(accounts)).astype(np.float32)
        return np.sqrt(self._labels.rows_in(accounts, partner)).astype(np.float32)

    def joined(self, features: NDArray[np.float32], shares: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
        """Rows of these features and neighbour label columns; None if the model has no head inputs."""
        parts = [] if self._ranks is None else [self._ranks.transform(features)]
        if shares is not None:
            parts.append(shares)
        return np.concatenate(parts, axis=1) if parts else None
