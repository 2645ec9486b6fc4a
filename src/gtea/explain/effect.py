"""The effect of removal: an account's score, had some of its events never happened, everything that follows included.

Exact: it is the score of a store that was ingested without these rows. ``Replay`` computes it in that way, for every
model: the store without the events, scored anew. ``AccountEffects`` gives the same numbers for GTEA and hybrids on
accounts from what changes alone: the account's statistics and those of its counterparties, their attention, the trees'
inputs (``gtea.explain.local_pass``).

An account that loses all its events has the score of an account without events.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.explain.changed_edge import changed_edge
from gtea.explain.encoded_view import EncodedView
from gtea.explain.local_pass import LocalPass
from gtea.features.alternatives import Alternatives, alternatives
from gtea.features.node_features import HeadInputs, NodeFeatures
from gtea.features.removals import RemovableEvents, Removals
from gtea.models.gtea import GTEANodeClassifier
from gtea.models.hybrid import HybridClassifier
from gtea.sampling.collate import HistoryReader
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.integrity import damaged
from gtea.store.view import View
from gtea.store.without import events_between, without_events

Nodes = NDArray[np.int64]
_SLOTS_AT_A_TIME = 1 << 22
"""How many slots of alternatives are described at a time, which bounds memory."""
_NUM_LAYERS = 2
"""What follows from a removal is written down for this many layers. Deeper networks are replayed."""


class Effects(ABC):
    """Scores of one subject, an account or a pair of accounts, without some of its events."""

    partners: Nodes
    """The distinct counterparties of each end, end by end."""
    ends: Nodes
    """The end whose counterparty each is."""

    def without(self, sets: Sequence[NDArray[np.integer[Any]]]) -> NDArray[np.float64]:
        """Probabilities without all dealings with some counterparties, [num_sets, num_classes].

        Args:
            sets: Each as indices into ``partners``.
        """
        return self._without([np.asarray(some, dtype=np.int64) for some in sets])

    @abstractmethod
    def _without(self, sets: list[Nodes]) -> NDArray[np.float64]: ...

    @abstractmethod
    def without_events(self, partner: int, sets: Sequence[Nodes]) -> NDArray[np.float64]:
        """Probabilities without some of the events with one counterparty, [num_sets, num_classes].

        Args:
            partner: An index into ``partners``.
            sets: Each as rows of the store's event arrays.
        """


class Replay(Effects):
    """Scores a store without the events: exact for every model and task, at the price of a whole scoring each."""

    def __init__(self, model: NodeModel | LinkModel, view: View, subject: Sequence[int]) -> None:
        self._model = model
        self._view = view
        self._subject = np.array(subject)
        first, *others = dict.fromkeys(subject)
        found = {end: np.unique(view.neighbours(end).nodes).astype(np.int64) for end in (first, *others)}
        # What the ends of a pair have with each other is named once.
        found |= {end: found[end][found[end] != first] for end in others}
        self.partners = np.concatenate(list(found.values()))
        self.ends = np.repeat(np.array(list(found)), [len(some) for some in found.values()])

    def _without(self, sets: list[Nodes]) -> NDArray[np.float64]:
        return np.stack([self._replay([self._between(i) for i in some]) for some in sets])

    def without_events(self, partner: int, sets: Sequence[Nodes]) -> NDArray[np.float64]:
        """Probabilities without some of the events with one counterparty."""
        return np.stack([self._replay([some]) for some in sets])

    def _between(self, partner: int) -> Nodes:
        return events_between(self._view, int(self.ends[partner]), int(self.partners[partner]))

    def _replay(self, events: list[Nodes]) -> NDArray[np.float64]:
        store = self._view.store
        if events:
            store = without_events(store, np.unique(np.concatenate(events)))
        if isinstance(self._model, NodeModel):
            return np.asarray(self._model.probabilities(store, self._view.cut, self._subject)[0])
        (linked,) = self._model.probabilities(store, self._view.cut, self._subject[:1], self._subject[1:])
        return np.array([1 - linked, linked])


class EffectModel:
    """A model of accounts made ready to compute effects on one view."""

    def __init__(self, model: NodeModel, view: View) -> None:
        preprocessing = model.preprocessing
        self.model, self.view = model, view
        self.network = cast(GTEANodeClassifier, model.network)
        self.features = NodeFeatures(view, preprocessing.nodes)
        self.inputs = HeadInputs(view, preprocessing.rank_inputs, preprocessing.neighbour_labels)
        self.tree_features = None
        if model.entry.has_trees:
            trees = preprocessing.tree_nodes
            self.tree_features = self.features if trees is None else NodeFeatures(view, trees)
        reader = HistoryReader(view, preprocessing, model.config.sampling.max_events)
        self.around = EncodedView(model.gtea, reader, self.features, model.device)

    @staticmethod
    def supports(model: NodeModel | LinkModel) -> bool:
        """Whether what follows from a removal is known: with partners' statistics, it reaches one hop further."""
        return (
            isinstance(model, NodeModel)
            and model.entry.exact
            and model.config.model.num_layers <= _NUM_LAYERS
            and "partners" not in model.preprocessing.nodes.kinds
        )

    def effects_on(self, node: int) -> AccountEffects:
        """The effects on one account."""
        return AccountEffects(self, node)


class AccountEffects(Effects):
    """Effects on the score of one account, from what changes alone."""

    def __init__(self, ready: EffectModel, node: int) -> None:
        self._ready = ready
        self._node = node
        with torch.inference_mode():
            self._local = LocalPass(ready.around, node)
        self.partners, self._partner_of = np.unique(self._local.neighbour, return_inverse=True)
        self.ends = np.full(len(self.partners), node)
        self._events = _events_by_partner(ready.view, self._local.edge, self._partner_of)
        self._removable = RemovableEvents(ready.view, node)
        self._alone: dict[int, NDArray[np.float32]] = {}

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The attention weight of each counterparty."""
        return np.bincount(self._partner_of, self._local.weights, len(self.partners)).astype(np.float64)

    def _without(self, sets: list[Nodes]) -> NDArray[np.float64]:
        size = max(1, _SLOTS_AT_A_TIME // max(1, len(self._partner_of)))
        parts = [self._removed(sets[first : first + size]) for first in range(0, len(sets), size)]
        return np.concatenate(parts)

    def _removed(self, sets: list[Nodes]) -> NDArray[np.float64]:
        lost = np.zeros((len(sets), len(self.partners)), dtype=bool)
        for i, some in enumerate(sets):
            lost[i, some] = True
        accounts = Removals(self._removable, lost)
        with torch.inference_mode():
            removed = np.flatnonzero(lost.any(axis=0)).tolist()
            self._describe_alone(accounts.kept, removed)
            partners = {int(self.partners[i]): self._alone[i] for i in removed if i in self._alone}
            x = self._ready.features.compute_in(accounts)
            return self._probabilities(self._local.embed(accounts.kept, x, partners), x, accounts, None)

    def without_events(self, partner: int, sets: Sequence[Nodes]) -> NDArray[np.float64]:
        """Probabilities without some of the events with one counterparty."""
        ready, graph, other = self._ready, self._ready.around.graph, int(self.partners[partner])
        edges = np.unique(np.searchsorted(graph.edge_offset, np.concatenate(sets), side="right") - 1)
        for end in (self._node, other):
            if not np.isin(edges, graph.slot_edge[ready.around.slots_of(end)]).all():
                raise damaged(ready.view.store.path, "slot_edge must have each edge at both of its ends")
        accounts = alternatives(self._ready.view, np.full(len(sets), self._node), list(sets))
        partners = alternatives(self._ready.view, np.full(len(sets), other), list(sets))
        with torch.inference_mode():
            changed = [changed_edge(ready.around, int(edge), accounts, partners) for edge in edges]
            kept = np.ones((len(sets), len(self._partner_of)), dtype=bool)
            for each in changed:
                kept[:, each.slot] = each.is_left
            x = ready.features.compute_in(accounts)
            rows = {other: x if other == self._node else ready.features.compute_in(partners)}
            z = self._local.embed(kept, x, rows, changed)
            return self._probabilities(z, x, accounts, partners)

    def _probabilities(
        self, z: torch.Tensor, x: NDArray[np.float32], accounts: Alternatives | Removals, partner: Alternatives | None
    ) -> NDArray[np.float64]:
        ready = self._ready
        shares = ready.inputs.label_shares_in(accounts, partner)
        trees = None if ready.tree_features is None else ready.tree_features.compute_in(accounts, partner)
        return self._blended(z, x, shares, trees)

    def _blended(
        self,
        z: torch.Tensor,
        x: NDArray[np.float32],
        shares: NDArray[np.float32] | None,
        trees: NDArray[np.float32] | None,
    ) -> NDArray[np.float64]:
        """Corrected probabilities of embeddings and inputs."""
        ready = self._ready
        logits = ready.network.answer(z.float().to(ready.model.device), *self._inputs(x, shares, trees))
        return ready.model.correction.apply(torch.softmax(logits.double(), dim=1).cpu().numpy())

    def _inputs(
        self, x: NDArray[np.float32], shares: NDArray[np.float32] | None, trees: NDArray[np.float32] | None
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """The inputs of the head and of the trees."""
        joined = self._ready.inputs.joined(x, shares)
        if trees is not None and shares is not None:
            trees = np.concatenate([trees, shares], axis=1)
        device = self._ready.model.device
        head, tree = (None if rows is None else torch.from_numpy(rows).to(device) for rows in (joined, trees))
        return head, tree

    def with_features(self, x: NDArray[np.float32], trees: NDArray[np.float32] | None) -> NDArray[np.float64]:
        """Probabilities with other features of the account itself, one row each.

        Args:
            x: What the network reads of it.
            trees: What trees read of it.
        """
        kept = np.ones((len(x), len(self._partner_of)), dtype=bool)
        with torch.inference_mode():
            z = self._local.embed(kept, x, {})
            shares = self._ready.inputs.label_shares(np.full(len(x), self._node))
            return self._blended(z, x, shares, trees)

    def opinions(self) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Raw class probabilities by the network alone and by the trees alone; None without trees."""
        x, trees = self.features()
        with torch.inference_mode():
            z = self._local.embed(np.ones((1, len(self._partner_of)), dtype=bool), x, {}).float()
            inputs = self._inputs(x, self._ready.inputs.label_shares(np.array([self._node])), trees)
            network = self._ready.network
            if not isinstance(network, HybridClassifier):
                return torch.softmax(network.answer(z, *inputs).double(), 1)[0].numpy(), None
            each, weights = (
                network.each_answer(z.to(self._ready.model.device), *inputs)[0].double(),
                network.blend.weights,
            )
            return each[0].exp().numpy(), torch.softmax(
                weights[1:] / weights[1:].sum().clamp(1e-9) @ each[1:], 0
            ).numpy()

    def features(self) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """What the network and the trees read of the account as it is, one row each."""
        ready, node = self._ready, np.array([self._node])
        return ready.features.rows(node), None if ready.tree_features is None else ready.tree_features.rows(node)

    def _describe_alone(self, kept: NDArray[np.bool_], removed: list[int]) -> None:
        """Describe the counterparties without the account, where a neighbour of the account still reads them."""
        local, ready = self._local, self._ready
        if len(ready.around.layers) < _NUM_LAYERS:
            return
        rows = ready.around.rows(local.attended(kept))
        read = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(row.neighbour for row in rows)]))
        wanted = [
            i for i in removed if i not in self._alone and self.partners[i] in read and self.partners[i] != self._node
        ]
        for i in wanted:
            made = alternatives(ready.view, self.partners[i : i + 1], [self._events[i]])
            self._alone[i] = ready.features.compute_in(made)


def _events_by_partner(view: View, edges: Nodes, partner_of: Nodes) -> list[Nodes]:
    """The rows of all events before the cut with each counterparty, given the edge and counterparty of each slot."""
    start, stop = view.event_ranges(edges)
    found: list[Nodes] = [np.empty(0, dtype=np.int64)] * (int(partner_of.max()) + 1 if len(partner_of) else 0)
    for slot in range(len(edges)):
        partner = int(partner_of[slot])
        events = np.arange(start[slot], stop[slot])
        found[partner] = np.concatenate([found[partner], events]) if len(found[partner]) else events
    return found
