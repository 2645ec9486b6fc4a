"""Scores that are exact at any time in a stream: what an event changes is found and computed again, nothing else.

An event of (u, v) changes the pair's embedding and logit, the statistics of u and v, and the attention rows of u and v.
From there, layer by layer, it changes the accounts that attend to a changed one, and the answers of all partners of u
and v where the model reads partners. All of these are marked at once. Some are computed when ``update`` ends, the
others when they are read: a score that is read is always that of the whole stream. See docs/decisions/0035.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
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
from gtea.live.event_rows import EventReader, EventRow, ReadEvents
from gtea.live.growing_array import GrowingArray
from gtea.live.growing_store import GrowingStore
from gtea.live.live_standing import LiveStanding
from gtea.live.pair_states import PairStates
from gtea.live.saved_state import read_state, write_state
from gtea.models.model_folder import SavedModel, load_model
from gtea.runtime.json_shape import Every, Natural
from gtea.sampling.collate import HistoryReader
from gtea.scoring.edge_cache import model_digest
from gtea.scoring.scorer import NodeModel
from gtea.store.schema import Schema
from gtea.store.store import Store
from gtea.store.strings import StringTable

PER_UPDATE = 256
"""How many accounts beside the ends of its events an update computes by default."""
_MOST_EVENTS = 1 << 15
"""An update computes no account with more events, and none that needs one: these are computed when they are read."""
_FACTS = {"num_events": Natural, "position": Every(object)}
_NOBODY = np.zeros(0, dtype=np.int64)
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
        state: str | os.PathLike[str] | None = None,
        still_fits: Callable[[Mapping[str, Any]], bool] | None = None,
        per_update: int | None = PER_UPDATE,
        allow_any_date: bool = False,
    ) -> None:
        """Read a model and a store, and score every account once, or read the scores from a saved state.

        Args:
            model: A model of accounts: GTEA or a hybrid.
            state: The file of ``save``. It is read if it fits the model and the store: the scorer then has the events
                that were saved. If not, or if there is none, everything is computed.
            still_fits: Whether the caller can go on from the position that it saved with the state. If not, the state
                is not used.
            per_update: How many accounts an update computes beside the ends of its events; None for all that it marks.
                The others are computed when they are read.
            allow_any_date: Whether to take events before 1970 or more than a day ahead of now.
        """
        if per_update is not None and per_update < 0:
            raise UsageError(f"per_update: must not be negative (got {per_update}). None computes all accounts.")
        self.model = _opened_model(model)
        opened = store if isinstance(store, Store) else Store.open(store)
        self._schema = Schema.from_json(opened.manifest.schema)
        self.reader = EventReader(self._schema, allow_any_date=allow_any_date)
        self._per_update = per_update
        self._state_file = None if state is None else Path(state)
        self._identity = None if state is None else _identity(self.model, opened)
        self._turn = 0
        self.position: dict[str, Any] = {}
        """What the caller saved with the state: where in its source of events it was. Empty without a saved state."""
        saved = None if self._state_file is None else read_state(self._state_file, self._identity or {}, _FACTS)
        # Only a caller whose state is used may go on from its position: whoever begins anew needs all events.
        if saved is not None and self._restore(opened, *saved):
            if still_fits is None or still_fits(self.position):
                return
            logging.getLogger("gtea").warning("the saved state is of other events; all accounts are scored again")
            self.position = {}
        self._store = GrowingStore(opened)
        self._make()
        self.num_events = 0
        """The events that were added since the store was opened."""
        self._grow()
        self._states.count_all(self._store.graph())
        self._pairs.encode(self._histories, self._store.graph(), np.arange(opened.num_edges), keep=False)
        self._compute(np.arange(self._store.num_nodes))

    @property
    def num_accounts(self) -> int:
        """The number of accounts, new ones included."""
        return self._store.num_nodes

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
        return self.update_rows(self.reader.frame(events, self._store.unit))

    def update_records(
        self, rows: Sequence[EventRow], *, most: int | None = None, also: Sequence[str] = (), in_turn: int = 0
    ) -> Changes:
        """The same for single events that ``reader`` has checked.

        Args:
            most: Compute at most so many accounts beside the ends of the events, if that is less than ``per_update``.
            also: Other accounts to compute with them, if they are marked: that costs less than later. Those that are
                not known are passed over, and those with too many events left marked.
            in_turn: And so many of all that are marked, as ``settle`` does.
        """
        known = self._store.accounts.find_many(also)
        return self._add(self.reader.rows(rows, self._store.unit), most, known[known >= 0], in_turn)

    def update_rows(self, rows: ReadEvents) -> Changes:
        """The same for events that have been read."""
        return self._add(rows, None, _NOBODY, 0)

    def _add(self, rows: ReadEvents, most: int | None, also: NDArray[np.int64], in_turn: int) -> Changes:
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
        self._states.count(np.concatenate([events.src, events.dst]))
        ends = np.unique(np.concatenate([events.src, events.dst]))
        view, graph = self._store.as_of(self._store.end), self._store.graph()
        self._answers.renew(view, np.union1d(ends, np.arange(before, self._store.num_nodes)))
        self._pairs.forget(np.unique(added.edge[added.late]))
        self._pairs.encode(self._histories, graph, np.unique(added.edge))
        self.num_events += len(events.src)
        if self._answers.reads_recency and self._store.end != end:
            self._mark_everybody()
        new = np.arange(before, self._store.num_nodes)
        chosen = self._mark(ends, new, most)
        if len(also) or in_turn:
            chosen = np.unique(np.concatenate([chosen, also, self._next_marked(in_turn)]))
        changed = self._compute(chosen, None if self._per_update is None else _MOST_EVENTS)
        return self._changes(*changed, len(events.src), int(added.late.sum()), loops)

    def save(self, position: Mapping[str, Any] | None = None) -> None:
        """Save all states to the file that ``state`` names, in one step.

        Args:
            position: Where in its source of events the caller is, to go on from there: see ``position``.
        """
        if self._state_file is None or self._identity is None:
            raise UsageError("save: the scorer has no file for its state. Make it with state=FILE.")
        parts = self._store.saved_arrays(), self._pairs.arrays(), self._states.arrays()
        arrays = {f"{i}.{name}": array for i, part in enumerate(parts) for name, array in part.items()}
        arrays |= {"scores": self._scores.rows, "stale": self._stale.rows}
        self.position = dict(position or {})
        write_state(
            self._state_file, self._identity, {"num_events": self.num_events, "position": self.position}, arrays
        )

    def settle(self, most: int | None = None) -> Changes:
        """Compute accounts that are marked. Returns those whose score has changed.

        Args:
            most: How many to compute; they take turns from one call to the next. None for all.
        """
        return self._changes(*self._compute(self._next_marked(most)), 0, 0, 0)

    def _next_marked(self, most: int | None) -> NDArray[np.int64]:
        """Accounts that are marked, so many in turn or all."""
        if most == 0 or not self._pending:
            return _NOBODY
        marked = np.flatnonzero(self._stale.rows)
        if most is not None and len(marked) > most:
            marked = np.roll(marked, -int(np.searchsorted(marked, self._turn)))[:most]
            self._turn = int(marked[-1]) + 1
        return marked

    def checked(self, rows: Sequence[EventRow]) -> ReadEvents:
        """Single events ready for ``update_rows``. If they can't be added, an error says so before anything is."""
        read = self.reader.rows(rows, self._store.unit)
        self._store.require_unit(read.unit)
        return read

    def standing(self) -> LiveStanding:
        """All scores as they are now, marked ones as they were last computed. Later events don't change it."""
        graph, ids = self._store.graph(), StringTable(self._store.accounts.offsets, self._store.accounts.data)
        scores = np.where(graph.node_stop > graph.node_offset, self._scores.rows, np.nan)
        threshold = None if self.model.threshold is None else self.model.threshold.value
        find = self._store.accounts.find
        return LiveStanding(ids, find, scores, self._stale.rows.copy(), self._store.rank, threshold, self._pending)

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

    def _make(self) -> None:
        """Everything beside the store, empty."""
        gtea = self.model.gtea
        self._pairs = PairStates(gtea.edge_encoder, self.model.config.sampling.max_events)
        self._answers = AccountAnswers(self.model, self._store.as_of(self._store.end))
        self._states = AccountStates(gtea, self._pairs, self._answers.features.width)
        self._stale = GrowingArray(np.zeros(0, dtype=np.bool_))
        self._scores = GrowingArray(np.zeros(0, dtype=np.float64))
        self._histories = self._new_histories()
        self._pending = 0

    def _restore(self, store: Store, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bool:
        """Take a saved state. Returns whether it fits."""
        parts: list[dict[str, NDArray[Any]]] = [{}, {}, {}]
        for name, array in arrays.items():
            if "." in name:
                number, _, rest = name.partition(".")
                parts[int(number)][rest] = array
        try:
            self._store = GrowingStore(store, parts[0])
            self._make()
            self._pairs.restore(parts[1], len(self._store.arrays.edge_a))
            self._states.restore(parts[2], self._store.num_nodes)
            for name, kind in (("scores", np.float64), ("stale", np.bool_)):
                if (arrays[name].dtype, arrays[name].shape) != (np.dtype(kind), (self._store.num_nodes,)):
                    raise ValueError("it has other accounts")
        except (KeyError, ValueError, IndexError) as error:
            logging.getLogger("gtea").warning("the saved state is not used (%s); all accounts are scored again", error)
            return False
        self._scores, self._stale = GrowingArray(arrays["scores"]), GrowingArray(arrays["stale"])
        self._pending = int(np.count_nonzero(arrays["stale"]))
        self.num_events, self.position = facts["num_events"], facts["position"]
        return True

    def _mark(self, ends: NDArray[np.int64], new: NDArray[np.int64], most: int | None) -> NDArray[np.int64]:
        """Mark what events of some accounts change. Returns the accounts that are to be computed at once."""
        bounds = [bound for bound in (most, self._per_update) if bound is not None]
        graph = self._store.graph()
        moved = ends
        if self._answers.features_read_partners:
            moved = np.concatenate([ends, mark_partners(graph, np.zeros(self._store.num_nodes, dtype=np.bool_), ends)])
        self._states.mark_rows(ends)
        reached = self._states.mark(graph, moved)
        found = np.concatenate([ends, new, reached])
        _, first = np.unique(found, return_index=True)
        found = found[np.sort(first)]
        self._pending += int(np.count_nonzero(~self._stale.rows[found]))
        self._stale.rows[found] = True
        if self._answers.reads_partners:
            partners = mark_partners(graph, self._stale.rows, ends)
            self._pending += len(partners)
            found = np.concatenate([found, partners])
        if not bounds:
            return np.flatnonzero(self._stale.rows)
        return found[: len(np.union1d(ends, new)) + min(bounds)]

    def _mark_everybody(self) -> None:
        self._states.mark_all()
        self._stale.rows[:] = True
        self._pending = len(self._stale)

    def _compute(
        self, nodes: NDArray[np.int64], most_events: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Bring the scores of some accounts up to date. Returns those that were computed, and their old scores.

        Args:
            most_events: See ``AccountStates.compute``.
        """
        nodes = nodes[self._stale.rows[nodes]]
        nodes = self._states.compute(self._store.graph(), nodes, self._answers.features.compute, most_events)
        old: NDArray[np.float64] = self._scores.rows[nodes]
        if len(nodes):
            self._scores.rows[nodes] = self.model.scores(self._answers.probabilities(nodes, self._states))
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
        if self.model.threshold is None:
            return np.zeros(len(nodes), dtype=np.bool_)
        graph = self._store.graph()
        active = graph.node_stop[nodes] > graph.node_offset[nodes]
        return np.asarray((self._scores.rows[nodes] >= self.model.threshold.value) & active)

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
        return HistoryReader(view, self.model.preprocessing, self.model.config.sampling.max_events)


def _identity(model: NodeModel, store: Store) -> dict[str, Any]:
    """What a saved state is of."""
    if not store.manifest.arrays:
        raise UsageError("state: goes with a store on disk (got one in memory). Leave it out.")
    saved = model.saved
    rest = [saved.config["classes"], saved.config["positive"], saved.config["input"], saved.calibration]
    answers = hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
    return {"model": model_digest(saved), "answers": answers, "data": store.digest}


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
