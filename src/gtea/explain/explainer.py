"""Explain the score of an account, or of a pair of accounts: who, with whom, when, and what if not."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.errors import UsageError
from gtea.explain.effect import AccountEffects, EffectModel, Effects, Replay
from gtea.explain.explanation import (
    BurstEffect,
    Counterparty,
    EventEffect,
    Explanation,
    Opinions,
    RandomCurve,
    StatisticEffect,
    WhatIf,
    ZeroWeight,
    log_odds,
)
from gtea.explain.own_statistics import AccountPopulation, MedianInputs, statistic_effects
from gtea.explain.scored import NUM_JOINT, Scored
from gtea.explain.what_if import Removal, SearchLimits, is_alert, smallest_removal
from gtea.models.model_folder import load_model
from gtea.scoring.edge_cache import model_digest
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.store import Store
from gtea.store.time_units import Instant
from gtea.store.without import events_between

CURVE_LENGTH = 12
"""How many counterparties are removed together, at most."""
NUM_DRAWS, _NUM_REPLAYED_DRAWS = 50, 3
"""How often as many are removed at random; rarely for models that are replayed, which takes its time."""
_NUM_DETAILS, _NUM_REPLAYED_DETAILS = 3, 1
_MAX_EVENTS, _MAX_BURSTS = 24, 8
_MAX_EVENT_READS = 1 << 20
"""How many events the alternatives of a counterparty may have in all: a hub's events are few, or none."""
_SEARCH, _REPLAYED = SearchLimits(48, 12), SearchLimits(6, 5)
"""How much is tried to find a set without which there is no alert; less for models that are replayed."""
_MONEY = ("amount", "value", "sum", "price", "volume")

Floats = NDArray[np.float64]


class Explainer:
    """Explains scores of one model on one store as of one cut. Reuse it: what is read of hubs is kept."""

    def __init__(
        self, model: NodeModel | LinkModel, store: Store, as_of: Instant | None = None, *, amount: str | None = None
    ) -> None:
        """Make a model ready to explain.

        Args:
            as_of: The cut. None means just after the last event.
            amount: The event feature that is summed up as received and sent; by default one whose name says so, else
                the first one.
        """
        if amount is not None and amount not in store.features:
            known = ", ".join(store.features) or "none"
            raise UsageError(f"amount: must be an event feature of the store (got {amount!r}). It has {known}.")
        self.model, self.store = model, store
        self.view = store.as_of(as_of)
        self.amount = amount or amount_column(store.features)
        self._ready = None
        if isinstance(model, NodeModel) and EffectModel.supports(model):
            self._ready = EffectModel(model, self.view)

    @staticmethod
    def open(
        model: Path, store: Path, device: torch.device, as_of: Instant | None = None, *, amount: str | None = None
    ) -> Explainer:
        """Open a model folder of either task and a store."""
        saved = load_model(model)
        kind = LinkModel if saved.config["task"] == "links" else NodeModel
        return Explainer(kind(saved, device), Store.open(store), as_of, amount=amount)

    def explain(self, account: str, other: str | None = None) -> Explanation:
        """Explain an account or, with a link model, a pair.

        Args:
            other: The other end of the pair.
        """
        if isinstance(self.model, LinkModel) != (other is not None):
            what = "pairs: give two accounts" if other is None else "accounts: give one"
            raise UsageError(f"{account}: the model scores {what}.")
        names = [account] if other is None else [account, other]
        nodes = [self.store.node(name) for name in names]
        scored = self.scored(nodes)
        strongest, what_if = scored.raising, self._what_if(scored)
        order = np.argsort(-np.abs(self._effects(scored)), kind="stable")
        if what_if is not None:
            order = np.append(strongest[:NUM_JOINT], order[~np.isin(order, strongest[:NUM_JOINT])])
        num = min(CURVE_LENGTH, len(order))
        return Explanation(
            account=account,
            pair=None if other is None else (account, other),
            as_of=self.store.date(self.view.cut),
            cut=self.view.cut,
            label=self._label(scored.column),
            score=scored.score,
            log_odds=log_odds(scored.score),
            threshold=self._threshold,
            alert=what_if is not None,
            active=bool(self.view.has_events(np.array(nodes)).all()),
            opinions=self._opinions(scored),
            amount_column=self.amount,
            counterparties=tuple(self._counterparty(scored, int(i), rank) for rank, i in enumerate(order)),
            num_counterparties=len(order),
            zero_weight=ZeroWeight(int(np.count_nonzero(self.weights(scored.effects) == 0))),
            own_statistics=self._own_statistics(scored, nodes[0]),
            what_if=what_if,
            removed=tuple(self.store.account(int(scored.effects.partners[i])) for i in strongest[:num]),
            removal_curve=tuple(scored.scores([strongest[: i + 1] for i in range(num)]).tolist()),
            random_curve=self._random_curve(scored, num),
            model_digest=self._model_digest,
            data_digest=self.store.digest,
        )

    def _effects_on(self, nodes: list[int]) -> AccountEffects | Replay:
        return Replay(self.model, self.view, nodes) if self._ready is None else self._ready.effects_on(nodes[0])

    def scored(self, nodes: list[int]) -> Scored:
        """The score of an account, or of a pair, by node numbers, and what it would be without each counterparty."""
        effects = self._effects_on(nodes)
        singles: list[NDArray[np.int64]] = list(np.arange(len(effects.partners))[:, None])
        table = effects.without([np.empty(0, dtype=np.int64), *singles])
        column = self._column(table[0])
        known = {np.sort(some).tobytes(): float(row[column]) for some, row in zip(singles, table[1:], strict=True)}
        candidates = (_REPLAYED if self._ready is None else _SEARCH).candidates
        return Scored(effects, column, float(table[0, column]), table[1:, column], candidates, known)

    def _column(self, probabilities: Floats) -> int:
        if isinstance(self.model, LinkModel) or self.model.positive is not None:
            return self.model.positive_column
        return int(probabilities.argmax())

    def _label(self, column: int) -> str:
        return "link" if isinstance(self.model, LinkModel) else self.model.classes[column]

    @property
    def _threshold(self) -> float | None:
        return None if self.model.threshold is None else self.model.threshold.value

    @property
    def _num_detailed(self) -> int:
        """For how many counterparties the effects of events and bursts are computed."""
        return _NUM_REPLAYED_DETAILS if self._ready is None else _NUM_DETAILS

    @cached_property
    def _model_digest(self) -> str:
        return model_digest(self.model.saved)

    def _effects(self, scored: Scored) -> Floats:
        base = log_odds(scored.score)
        return np.array([base - log_odds(float(each)) for each in scored.without])

    def weights(self, effects: Effects) -> Floats:
        """The attention weight of each counterparty; NaN for a model that is replayed."""
        return effects.weights if isinstance(effects, AccountEffects) else np.full(len(effects.partners), np.nan)

    def _opinions(self, scored: Scored) -> Opinions:
        if not isinstance(scored.effects, AccountEffects):
            return Opinions(None, None)
        network, trees = scored.effects.opinions()
        return Opinions(float(network[scored.column]), None if trees is None else float(trees[scored.column]))

    def _counterparty(self, scored: Scored, i: int, rank: int) -> Counterparty:
        effects, store = scored.effects, self.store
        end, node = int(effects.ends[i]), int(effects.partners[i])
        events = events_between(self.view, end, node)
        events = events[np.argsort(store.arrays.event_time[events], kind="stable")]
        times, without = store.arrays.event_time[events], float(scored.without[i])
        weight = float(self.weights(effects)[i])
        return Counterparty(
            account=store.account(node),
            end=store.account(end),
            score_without=without,
            effect=log_odds(scored.score) - log_odds(without),
            weight=None if np.isnan(weight) else weight,
            num_events=len(events),
            received=self._total(end, events, sent=False),
            sent=self._total(end, events, sent=True),
            first=store.date(int(times[0])),
            last=store.date(int(times[-1])),
            bursts=self._bursts(scored, i, events) if rank < self._num_detailed else (),
            events=self._events(scored, i, events) if rank < self._num_detailed else (),
        )

    def _is_sent(self, end: int, events: NDArray[np.int64]) -> NDArray[np.bool_]:
        arrays = self.store.arrays
        edge = np.searchsorted(arrays.edge_offset, events, side="right") - 1
        return np.asarray((arrays.event_reverse[events] == 0) == (arrays.edge_a[edge] == end))

    def _total(self, end: int, events: NDArray[np.int64], *, sent: bool) -> float | None:
        if self.amount is None:
            return None
        chosen = events[self._is_sent(end, events) == sent]
        column = self.store.features.index(self.amount)
        return float(self.store.arrays.event_features[chosen, column].sum(dtype=np.float64))

    def _num_variants(self, scored: Scored, i: int, most: int) -> int:
        """How many alternatives are computed for one counterparty: fewer for one with very many events."""
        start, stop = self.view.slot_ranges(scored.effects.partners[i : i + 1])
        edges = self.store.arrays.slot_edge[start[0] : stop[0]]
        first, end = self.view.event_ranges(edges)
        return min(most, _MAX_EVENT_READS // max(1, int((end - first).sum())))

    def _events(self, scored: Scored, i: int, events: NDArray[np.int64]) -> tuple[EventEffect, ...]:
        num = self._num_variants(scored, i, _MAX_EVENTS)
        chosen = events[len(events) - min(num, len(events)) :]
        if not len(chosen):
            return ()
        without = scored.effects.without_events(i, list(chosen[:, None]))[:, scored.column]
        arrays, end = self.store.arrays, int(scored.effects.ends[i])
        column = None if self.amount is None else self.store.features.index(self.amount)
        return tuple(
            EventEffect(
                self.store.date(int(arrays.event_time[event])),
                bool(sent),
                None if column is None else float(arrays.event_features[event, column]),
                float(score),
                log_odds(scored.score) - log_odds(float(score)),
            )
            for event, sent, score in zip(chosen, self._is_sent(end, chosen), without, strict=True)
        )

    def _bursts(self, scored: Scored, i: int, events: NDArray[np.int64]) -> tuple[BurstEffect, ...]:
        times = self.store.arrays.event_time[events]
        groups = _group(times)
        groups = sorted(sorted(groups, key=len, reverse=True)[: self._num_variants(scored, i, _MAX_BURSTS)], key=min)
        if not groups:
            return ()
        chosen, end = [events[group.start : group.stop] for group in groups], int(scored.effects.ends[i])
        without = scored.effects.without_events(i, chosen)[:, scored.column]
        return tuple(
            BurstEffect(
                self.store.date(int(times[group.start])),
                self.store.date(int(times[group.stop - 1])),
                len(group),
                self._total(end, some, sent=False),
                self._total(end, some, sent=True),
                float(score),
                log_odds(scored.score) - log_odds(float(score)),
            )
            for group, some, score in zip(groups, chosen, without, strict=True)
        )

    def _random_curve(self, scored: Scored, num: int) -> RandomCurve:
        draws = _NUM_REPLAYED_DRAWS if self._ready is None else NUM_DRAWS
        scores = scored.scores(random_sets(len(scored.without), num, draws)).reshape(draws, num)
        return RandomCurve(tuple(scores.mean(axis=0).tolist()), tuple(scores.std(axis=0).tolist()), draws)

    def _own_statistics(self, scored: Scored, node: int) -> tuple[StatisticEffect, ...]:
        if self._ready is None or not isinstance(scored.effects, AccountEffects):
            return ()
        network, trees = self._medians
        names = tuple(name for name in self._population.names if any(name in each.columns for each in (network, trees)))
        x, tree_row = scored.effects.features()
        tree_rows = None if tree_row is None else trees.exchanged(tree_row[0], names)
        if not names:
            return ()
        scores = scored.effects.with_features(network.exchanged(x[0], names), tree_rows)[:, scored.column]
        return statistic_effects(self._population, node, names, scores, scored.score, self.view)

    @cached_property
    def _population(self) -> AccountPopulation:
        preprocessing = self.model.preprocessing
        kinds = (*preprocessing.nodes.kinds, *(preprocessing.tree_nodes.kinds if preprocessing.tree_nodes else ()))
        return AccountPopulation(self.view, kinds)

    @cached_property
    def _medians(self) -> tuple[MedianInputs, MedianInputs]:
        preprocessing = self.model.preprocessing
        trees = preprocessing.tree_nodes or preprocessing.nodes
        return MedianInputs.of(preprocessing.nodes, self._population), MedianInputs.of(trees, self._population)

    def _what_if(self, scored: Scored) -> WhatIf | None:
        threshold = self._threshold
        if threshold is None or not is_alert(scored, _nobody(scored), threshold):
            return None
        found = smallest_removal(scored, threshold, _REPLAYED if self._ready is None else _SEARCH)
        accounts = tuple(self.store.account(int(scored.effects.partners[i])) for i in found.chosen)
        return WhatIf(accounts, found.score, is_alert(scored, found, threshold), found.is_smallest)


def _nobody(scored: Scored) -> Removal:
    """Nobody is removed."""
    return Removal(np.empty(0, dtype=np.int64), scored.score)


def _group(times: NDArray[np.int64]) -> list[range]:
    """Groups of at least two events in quick succession: gaps are at most ten times the median gap.

    A history that is one group as a whole has no bursts.

    Args:
        times: In ascending order.
    """
    gaps = np.diff(times).view(np.uint64)  # a difference of int64 may not fit into int64
    if not len(gaps):
        return []
    borders = np.flatnonzero(gaps > 10 * np.median(gaps)) + 1
    groups = [
        range(int(start), int(stop))
        for start, stop in zip([0, *borders], [*borders, len(times)], strict=True)
        if stop - start > 1
    ]
    return [] if len(borders) == 0 else groups


def random_sets(count: int, longest: int, draws: int = NUM_DRAWS) -> list[NDArray[np.int64]]:
    """The first 1, 2, .. of each of some random orders of ``count`` things: the same ones in every run."""
    generator = np.random.default_rng(0)
    orders = [generator.permutation(count) for _ in range(draws)]
    return [order[: i + 1] for order in orders for i in range(longest)]


def amount_column(features: tuple[str, ...]) -> str | None:
    """The event feature that is summed up by default: the first one whose name says so, else the first one."""
    named = (name for name in features if any(word in name.lower() for word in _MONEY))
    return next(named, features[0] if features else None)
