"""Scores that are exact at any moment of a stream: what an event changes is found and computed again, nothing else.

An event of (u, v) changes the pair's embedding and logit, the statistics of u and v, and the attention rows of u and v.
From there, layer by layer, it changes the accounts that attend to a changed one, and the answers of all partners of u
and v where the model reads partners. All of these are marked at once. Some are computed when ``update`` ends, the others
when they are read: a score that is read is always that of the whole stream. See docs/decisions/0035.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from gtea.errors import DataError, ModelError, UsageError
from gtea.live.account_answers import AccountAnswers
from gtea.live.account_states import AccountStates
from gtea.live.attention_marks import mark_partners
from gtea.live.event_rows import EventReader, EventRows
from gtea.live.growing_array import GrowingArray
from gtea.live.growing_store import GrowingStore
from gtea.live.pair_states import PairStates
from gtea.models.model_folder import SavedModel, load_model
from gtea.sampling.collate import HistoryReader
from gtea.scoring.scorer import NodeModel
from gtea.store.schema import Schema
from gtea.store.store import Store

PER_UPDATE = 256
"""How many accounts beside the ends of its events an update computes by default."""
_SAME = 1e-7
"""Scores that differ by less are the same: another order of summing moves the last digits of float32."""


@dataclass(frozen=True)
class Changes:
    """The accounts whose score an update has changed, as far as it has computed them."""

    accounts: list[str]
    old: NDArray[np.float64]
    """Their scores before; NaN for new accounts."""
    new: NDArray[np.float64]
    alert: NDArray[np.bool_]
    """Whether the new score is at or above the model's threshold; false where it has none."""
    num_events: int
    """The events that were added."""
    late: int
    """How many of them lay before an event of the same pair."""
    self_loops: int
    """Events from an account to itself that were left out, as the store does."""
    pending: int
    """The accounts that are marked: their scores are computed when they are read."""

    def __len__(self) -> int:
        return len(self.accounts)

    def to_arrow(self) -> pa.Table:
        """The columns account, old, new and alert."""
        old = pa.array(self.old, from_pandas=True)
        return pa.table({"account": self.accounts, "old": old, "new": self.new, "alert": self.alert})


class LiveScorer:
    """The scores of all accounts of a store, kept up to date while events arrive.

    Scores are equal, within 1e-6, to those of ``gtea append`` with all events so far, followed by ``gtea score``. The
    store on disk does not change.

    >>> import gtea
    >>> scorer = gtea.LiveScorer("payments.model", "payments.store")  # doctest: +SKIP
    >>> changes = scorer.update(frame)  # doctest: +SKIP
    >>> scorer.top(10)  # doctest: +SKIP
    """

    def __init__(
        self,
        model: NodeModel | SavedModel | str | os.PathLike[str],
        store: Store | str | os.PathLike[str],
        *,
        per_update: int | None = PER_UPDATE,
        allow_any_date: bool = False,
    ) -> None:
        """Read a model and a store, and score every account once.

        Args:
            model: A model of accounts: GTEA or a hybrid.
            per_update: How many accounts an update computes beside the ends of its events; None for all that it marks.
                The others are computed when they are read.
            allow_any_date: Whether to take events before 1970 or more than a day ahead of now.
        """
        if per_update is not None and per_update < 0:
            raise UsageError(f"per_update: must not be negative (got {per_update}). None computes all accounts.")
        self._model = _opened_model(model)
        opened = store if isinstance(store, Store) else Store.open(store)
        self._schema = Schema.from_json(opened.manifest.schema)
        self._reader = EventReader(self._schema, allow_any_date=allow_any_date)
        self._per_update = per_update
        self._store = GrowingStore(opened)
        config, gtea = self._model.config, self._model.gtea
        self._pairs = PairStates(gtea.edge_encoder, config.sampling.max_events)
        self._answers = AccountAnswers(self._model, self._store.as_of(self._store.end))
        self._states = AccountStates(gtea, self._pairs, self._answers.features.width)
        self._stale = GrowingArray(np.zeros(0, dtype=np.bool_))
        self._scores = GrowingArray(np.zeros(0, dtype=np.float64))
        self._histories = self._new_histories()
        self._pending = 0
        self.num_events = 0
        """The events that were added since the store was opened."""
        self._grow()
        self._pairs.encode(self._histories, self._store.graph(), np.arange(opened.num_edges), keep=False)
        self._compute(np.arange(self._store.num_nodes))

    @property
    def pending(self) -> int:
        """How many accounts are marked: their scores are computed when they are read."""
        return self._pending

    @property
    def num_bytes(self) -> int:
        """What all states take in memory, beside the model."""
        return self._store.num_bytes + self._pairs.num_bytes + self._states.num_bytes + self._scores.num_bytes

    def update(self, events: Any) -> Changes:
        """Add events, and compute what they change.

        Args:
            events: A frame with the columns of the store, in the order of arrival. Accounts may be new, and events may
                be earlier than others. If a row can't become an event, none is taken.
        """
        return self.update_rows(self._reader.frame(events, self._store.unit))

    def update_rows(self, rows: EventRows) -> Changes:
        """The same for events that have been read."""
        loops = 0
        if self._schema.self_loops == "drop":
            loops = sum(src == dst for src, dst in zip(rows.src, rows.dst, strict=True))
        if rows.unit != self._store.unit:
            self._store.refine(rows.unit)
            self._histories = self._new_histories()
            self._mark_everybody()
        words = [len(table) for table in self._store.vocabularies]
        events, before = self._store.numbered(rows), len(self._stale)
        if loops:
            kept = events.src != events.dst
            events = type(events)(*(column[kept] for column in events))
        end = self._store.end
        added = self._store.add(events)
        if words != [len(table) for table in self._store.vocabularies]:
            self._histories = self._new_histories()
        self._grow()
        ends = np.unique(np.concatenate([events.src, events.dst]))
        view, graph = self._store.as_of(self._store.end), self._store.graph()
        self._answers.renew(view, np.union1d(ends, np.arange(before, self._store.num_nodes)))
        self._pairs.forget(np.unique(added.edge[added.late]))
        self._pairs.encode(self._histories, graph, np.unique(added.edge))
        self.num_events += len(events.src)
        if self._answers.reads_recency and self._store.end != end:
            self._mark_everybody()
        new = np.arange(before, self._store.num_nodes)
        chosen = self._mark(ends, new)
        changed = self._compute(chosen)
        return self._changes(*changed, len(events.src), int(added.late.sum()), loops)

    def settle(self) -> Changes:
        """Compute all accounts that are marked. Returns those whose score has changed."""
        changed = self._compute(np.flatnonzero(self._stale.rows))
        return self._changes(*changed, 0, 0, 0)

    def score(self, accounts: Sequence[str]) -> NDArray[np.float64]:
        """The scores of some accounts, exact as of the last event."""
        nodes = self._store.accounts.find_many(accounts)
        if len(nodes) and nodes.min() < 0:
            raise DataError(
                f"{accounts[int(nodes.argmin())]!r}: no such account in the store or the stream. Check the id."
            )
        self._compute(np.unique(nodes))
        found: NDArray[np.float64] = self._scores.rows[nodes]
        return found

    def top(self, k: int) -> pa.Table:
        """The k accounts with the highest scores: account, score, alert. Computes all that are marked."""
        self._compute(np.flatnonzero(self._stale.rows))
        scores = self._scores.rows
        best = np.lexsort((self._store.rank, -scores))[: max(k, 0)]
        columns = {"account": [self._store.account(int(node)) for node in best], "score": scores[best]}
        return pa.table(columns | {"alert": self._alerts(best)})

    def _mark(self, ends: NDArray[np.int64], new: NDArray[np.int64]) -> NDArray[np.int64]:
        """Mark what events of some accounts change. Returns the accounts that are to be computed at once."""
        graph = self._store.graph()
        moved, partners = ends, new[:0]
        if self._answers.reads_partners or self._answers.features_read_partners:
            partners = mark_partners(graph, np.zeros(self._store.num_nodes, dtype=np.bool_), ends)
        if self._answers.features_read_partners:
            moved = np.concatenate([ends, partners])
        self._states.mark_rows(ends)
        reached = self._states.mark(graph, moved)
        found = np.concatenate([ends, new, reached, partners])
        _, first = np.unique(found, return_index=True)
        found = found[np.sort(first)]
        self._pending += int(np.count_nonzero(~self._stale.rows[found]))
        self._stale.rows[found] = True
        if self._per_update is None:
            return np.flatnonzero(self._stale.rows)
        return found[: len(np.union1d(ends, new)) + self._per_update]

    def _mark_everybody(self) -> None:
        self._states.mark_all()
        self._stale.rows[:] = True
        self._pending = len(self._stale)

    def _compute(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Bring the scores of some accounts up to date. Returns those that were computed, and their old scores."""
        nodes = nodes[self._stale.rows[nodes]]
        old: NDArray[np.float64] = self._scores.rows[nodes]
        if len(nodes):
            self._states.compute(self._store.graph(), nodes, self._answers.features.compute)
            self._scores.rows[nodes] = self._model.scores(self._answers.probabilities(nodes, self._states))
            self._stale.rows[nodes] = False
            self._pending -= len(nodes)
        return nodes, old

    def _changes(
        self, nodes: NDArray[np.int64], old: NDArray[np.float64], num_events: int, late: int, self_loops: int
    ) -> Changes:
        new: NDArray[np.float64] = self._scores.rows[nodes]
        moved = ~(np.abs(new - old) <= _SAME)
        nodes, old, new = nodes[moved], old[moved], new[moved]
        accounts = [self._store.account(int(node)) for node in nodes]
        return Changes(accounts, old, new, self._alerts(nodes), num_events, late, self_loops, self._pending)

    def _alerts(self, nodes: NDArray[np.int64]) -> NDArray[np.bool_]:
        if self._model.threshold is None:
            return np.zeros(len(nodes), dtype=np.bool_)
        graph = self._store.graph()
        active = graph.node_stop[nodes] > graph.node_offset[nodes]
        return np.asarray((self._scores.rows[nodes] >= self._model.threshold.value) & active)

    def _grow(self) -> None:
        """Have room for the accounts and pairs that are new."""
        before, num_nodes = len(self._stale), self._store.num_nodes
        self._pairs.grow(self._store.graph().edge_a.shape[0])
        self._states.grow(num_nodes)
        self._stale.grow(num_nodes)
        self._scores.grow(num_nodes)
        self._stale.rows[before:], self._scores.rows[before:] = True, np.nan
        self._pending += num_nodes - before

    def _new_histories(self) -> HistoryReader:
        view = self._store.as_of(self._store.end)
        return HistoryReader(view, self._model.preprocessing, self._model.config.sampling.max_events)


def _opened_model(model: NodeModel | SavedModel | str | os.PathLike[str]) -> NodeModel:
    if isinstance(model, str | os.PathLike):
        model = load_model(Path(model))
    found = NodeModel(model, torch.device("cpu")) if isinstance(model, SavedModel) else model
    if not found.entry.exact:
        raise ModelError(
            f"live scores: the model must be a GTEA or a hybrid (got a {found.config.model.family}). "
            "Score with gtea score after each delivery."
        )
    return found
