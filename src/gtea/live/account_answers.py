"""The last step: from embeddings and features of accounts to probabilities, for GTEA and the hybrid.

A hybrid's wide trees read statistics of an account's partners, and heads and trees may read the labels of neighbours.
Both reach one step: an event of an account changes the answers of all its partners, attended to or not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import from_numpy

from gtea.config import NodeKind
from gtea.features.node_features import CONTEXT_KINDS, HeadInputs, NodeFeatures, NodePreprocessing
from gtea.live.account_states import AccountStates
from gtea.models.gtea import GTEANodeClassifier
from gtea.scoring.sampled import require_finite
from gtea.scoring.scorer import NodeModel
from gtea.store.view import View

_RECENCY = ("_since_first", "_since_last")
_MOST_ROWS = 1 << 13


class AccountAnswers:
    """Describes accounts and answers for them, with one model."""

    def __init__(self, model: NodeModel, view: View) -> None:
        self._model = model
        self._network = cast(GTEANodeClassifier, model.network)
        given = model.preprocessing
        self._nodes = given.nodes
        trees = (given.tree_nodes or given.nodes) if model.entry.has_trees else None
        self.features = NodeFeatures(view, given.nodes)
        shared = () if trees is None else _shared_kinds(given.nodes, trees)
        self._has_trees, self._trees_read_x = trees is not None, bool(shared)
        rest = None if trees is None else replace(trees, kinds=trees.kinds[len(shared) :])
        self._tree_features = NodeFeatures(view, rest) if rest is not None and rest.kinds else None
        self._inputs = HeadInputs(view, given.rank_inputs, given.neighbour_labels)
        names = (*given.nodes.names, *(trees.names if trees else ()))
        self.reads_recency = any(name.endswith(_RECENCY) for name in names)
        """Whether the passing of time alone changes every score."""
        self.reads_partners = given.neighbour_labels is not None or bool(trees and trees.partners)
        """Whether answers depend on the events of partners, attended to or not."""
        self.features_read_partners = given.nodes.partners is not None
        """Whether the network's own features do."""

    def renew(self, view: View, changed: NDArray[np.int64]) -> None:
        """Go over to a view with more events. The changed accounts are those that have them, and new ones."""
        self.features.renew(view, changed)
        self._inputs.renew(view, changed)
        if self._tree_features is not None:
            self._tree_features.renew(view, changed)

    @torch.inference_mode()
    def probabilities(self, nodes: NDArray[np.int64], states: AccountStates) -> NDArray[np.float64]:
        """Class probabilities of accounts whose embeddings are up to date, as the model's file says: calibrated."""
        parts = [np.zeros((0, len(self._model.classes)))]
        for first in range(0, len(nodes), _MOST_ROWS):
            some = nodes[first : first + _MOST_ROWS]
            shares = self._inputs.label_shares(some)
            x = states.x(some)
            rows = self._inputs.joined(x, shares)
            trees = from_numpy(self._tree_rows(some, x, shares)) if self._has_trees else None
            logits = self._network.answer(states.z(some), None if rows is None else from_numpy(rows), trees)
            parts.append(torch.softmax(logits.double(), dim=1).numpy())
        return self._model.correction.apply(require_finite(np.concatenate(parts)))

    def _tree_rows(
        self, nodes: NDArray[np.int64], x: NDArray[np.float32], shares: NDArray[np.float32] | None
    ) -> NDArray[np.float32]:
        """What trees read of some accounts: their features, and the labels of their neighbours."""
        parts = [x] if self._trees_read_x else []
        if self._tree_features is not None:
            parts.append(self._tree_features.compute(nodes))
        return np.concatenate(parts if shares is None else [*parts, shares], axis=1)


def _shared_kinds(network: NodePreprocessing, trees: NodePreprocessing) -> tuple[NodeKind, ...]:
    """The kinds of the network's features, if the trees' begin with the very same columns."""
    kinds = network.kinds
    same = replace(trees, kinds=kinds, partners=network.partners, rhythm=network.rhythm) == network
    return kinds if same and trees.kinds[: len(kinds)] == kinds and not set(kinds) & set(CONTEXT_KINDS) else ()
