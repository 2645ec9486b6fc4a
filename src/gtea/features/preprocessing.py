"""All that is learnt from the training window before training begins: one frozen value, saved with the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from gtea.config import Clock, InputSpec, RunConfig
from gtea.errors import UsageError
from gtea.features.account_statistics import ageless, flow_names, statistic_names, statistics
from gtea.features.event_features import EventPreprocessing, numeric_columns
from gtea.features.neighbour_labels import NeighbourLabels
from gtea.features.node_features import NodeFeatures, NodeKind, NodePreprocessing, node_columns
from gtea.features.pair_statistics import PAIR_STATISTICS, PairStatistics
from gtea.features.scaling import ColumnScaler, LogScale, RankScaler, TimeScaler, fit_columns, fit_ranks, fit_times
from gtea.features.vocabulary import fit_vocabulary
from gtea.store.store import Store
from gtea.store.view import View

_MAX_EVENTS = 1_000_000

_MAX_VALUES = 16_000_000

_MAX_NODES = 100_000

_MAX_PAIRS = 20_000

_DAY = 86_400

_MINUTE_IN_DAYS = 1 / 1440


@dataclass(frozen=True)
class Preprocessing:
    """How times, events and nodes are made fit for a network."""

    times: TimeScaler
    events: EventPreprocessing
    nodes: NodePreprocessing
    pairs: RankScaler | None = None
    """Of statistics of pairs; None where nobody asks for them."""
    ranks: RankScaler | None = None
    """Of the features of nodes; None where nobody asks for them."""
    known: NeighbourLabels | None = None
    """Labels to be looked up around nodes; None where nobody asks for them."""

    @property
    def d_event(self) -> int:
        """The width of ``Histories.features``."""
        return len(self.events.names)

    @property
    def d_node(self) -> int:
        """The width of ``Batch.node_features``."""
        return len(self.nodes.names)

    def to_json(self) -> dict[str, Any]:
        """As it stands in a model's file."""
        return {
            "times": self.times.to_json(),
            "events": self.events.to_json(),
            "nodes": self.nodes.to_json(),
            "pairs": None if self.pairs is None else self.pairs.to_json(),
            "ranks": None if self.ranks is None else self.ranks.to_json(),
            "known": None if self.known is None else self.known.to_json(),
        }

    @staticmethod
    def from_json(content: dict[str, Any]) -> Preprocessing:
        """The preprocessing of a model's file."""
        return Preprocessing(
            TimeScaler.from_json(content["times"]),
            EventPreprocessing.from_json(content["events"]),
            NodePreprocessing.from_json(content["nodes"]),
            RankScaler.from_json(content["pairs"]) if content.get("pairs") else None,
            RankScaler.from_json(content["ranks"]) if content.get("ranks") else None,
            NeighbourLabels.from_json(content["known"]) if content.get("known") else None,
        )


def fit_preprocessing(
    view: View,
    *,
    nodes: Sequence[NodeKind] = ("statistics",),
    d_random: int = 32,
    ages: bool = True,
    flows: bool = True,
    with_gap: bool = False,
    clock: Clock = "pair",
    pairs: bool = False,
    ranks: bool = False,
    known: NeighbourLabels | None = None,
    log: LogScale = "auto",
    max_words: int = 32,
    unit_seconds: int = _DAY,
) -> Preprocessing:
    """Learn scalers and vocabularies from what lies before the view's cut.

    Args:
        nodes: Which features nodes have.
        d_random: The length of random vectors, where ``nodes`` asks for them.
        ages: Whether statistics tell how long before the cut an account's first and last events were.
        flows: Whether statistics tell how much stayed of what came in.
        with_gap: Whether an event also tells the time since the pair's event before it, on a log scale.
        clock: What events' times count from.
        pairs: Whether statistics of pairs will be asked for.
        ranks: Whether nodes' own features will be asked for as ranks.
        known: Labels to look up around nodes.
        log: Which numeric columns go on a log scale; see ``gtea.features.scaling``.
        max_words: How many words of a categorical column the model knows by name.
    """
    times = fit_window(view, unit_seconds)
    of_nodes = fit_nodes(view, nodes, d_random=d_random, ages=ages, flows=flows, log=log)
    return Preprocessing(
        times,
        fit_events(view, with_gap=with_gap, clock=clock, log=log, max_words=max_words),
        of_nodes,
        fit_pairs(view, times) if pairs else None,
        fit_node_ranks(view, of_nodes) if ranks else None,
        known,
    )


def fit_window(view: View, unit_seconds: int = _DAY) -> TimeScaler:
    """The time scale of a view: its first event is the origin."""
    start, stop = view.event_ranges(np.arange(view.store.num_edges))
    visible = stop > start
    if not visible.any():
        return fit_times(view.cut, view.cut, view.store.unit, unit_seconds)
    time = view.arrays.event_time
    first, last = int(time[start[visible]].min()), int(time[stop[visible] - 1].max())
    return fit_times(first, last, view.store.unit, unit_seconds)


def fit_events(
    view: View, *, with_gap: bool = False, clock: Clock = "pair", log: LogScale = "auto", max_words: int = 32
) -> EventPreprocessing:
    """Scalers and vocabularies of event columns."""
    store, arrays = view.store, view.arrays
    rows, gap = sample_events(view, min(_MAX_EVENTS, _MAX_VALUES // max(1, len(store.features))))
    values = numeric_columns(arrays.event_features[rows], gap, store.unit, with_gap)
    names = (*store.features, *(("gap",) if with_gap else ()))
    scaler = fit_columns(names, values, log=log, always_log=("gap",) if with_gap else ())
    codes = arrays.event_categories[rows]
    vocabularies = (
        fit_vocabulary(column, codes[:, i], store.vocabularies[i].__getitem__, max_words)
        for i, column in enumerate(store.categorical)
    )
    return EventPreprocessing(scaler, with_gap, tuple(vocabularies), clock)


def fit_nodes(
    view: View,
    kinds: Sequence[NodeKind],
    *,
    d_random: int = 32,
    ages: bool = True,
    flows: bool = True,
    log: LogScale = "auto",
) -> NodePreprocessing:
    """Scalers of node features, from accounts that have an event before the cut."""
    unknown = [kind for kind in kinds if kind not in get_args(NodeKind)]
    if unknown or not kinds or len(set(kinds)) != len(kinds):
        raise UsageError(
            f"features.nodes: must name one or more of {', '.join(get_args(NodeKind))}, each once (got {list(kinds)})."
        )
    if "random" in kinds and d_random < 1:
        raise UsageError(f"features.d_random: must be at least 1 (got {d_random}).")
    seen = _visible_nodes(view)
    return NodePreprocessing(
        tuple(kinds),
        _fit_given(view, seen, log) if "given" in kinds else None,
        _fit_statistics(view, seen, ages, flows, log) if "statistics" in kinds else None,
        d_random if "random" in kinds else 0,
    )


def fit_node_ranks(view: View, nodes: NodePreprocessing) -> RankScaler:
    """Ranks of nodes' features as they are scaled, from accounts that have an event before the cut."""
    return fit_ranks(nodes.names, NodeFeatures(view, nodes).compute(_visible_nodes(view)))


def fit_pairs(view: View, times: TimeScaler) -> RankScaler:
    """Ranks of pairs' statistics, from pairs that have met before the cut, and as many mixed from their ends."""
    start, stop = view.event_ranges(np.arange(view.store.num_edges))
    met = np.flatnonzero(stop > start)
    met = met[evenly(len(met), _MAX_PAIRS)]
    src, dst = (end[met].astype(np.int64) for end in (view.arrays.edge_a, view.arrays.edge_b))
    statistics = PairStatistics(view, times.stored_per_unit(view.store.unit))
    rows = statistics.rows(np.concatenate([src, src]), np.concatenate([dst, np.roll(dst, len(dst) // 2)]))
    return fit_ranks(PAIR_STATISTICS, rows, with_none=True)


def sample_events(view: View, limit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Events before the cut by their place in the store, evenly spread; and the gap of each to its pair's last one."""
    start, stop = view.event_ranges(np.arange(view.store.num_edges))
    seen = np.concatenate([[0], np.cumsum(stop - start)])
    rank = evenly(int(seen[-1]), limit)
    edge = np.searchsorted(seen, rank, side="right") - 1
    rows = start[edge] + rank - seen[edge]
    before = np.maximum(rows - 1, start[edge])
    return rows, view.arrays.event_time[rows] - view.arrays.event_time[before]


def evenly(count: int, limit: int) -> NDArray[np.int64]:
    """All of 0 .. count - 1, or ``limit`` of them at equal distances."""
    return np.arange(count) if count <= limit else np.arange(limit) * count // limit


def _visible_nodes(view: View) -> NDArray[np.int64]:
    start, stop = view.slot_ranges(np.arange(view.store.num_nodes))
    visible = np.flatnonzero(stop > start)
    return visible[evenly(len(visible), _MAX_NODES)]


def _fit_given(view: View, nodes: NDArray[np.int64], log: LogScale) -> ColumnScaler:
    names = node_columns(view.store)
    features, present = view.store.node_features, view.store.node_in_table
    assert features is not None
    assert present is not None
    return fit_columns(names, features[nodes[present[nodes] == 1]], log=log)


def _fit_statistics(view: View, nodes: NDArray[np.int64], ages: bool, flows: bool, log: LogScale) -> ColumnScaler:
    names = statistic_names(view.store.features)
    without = () if flows else flow_names(view.store.features)
    kept = [name for name in (names if ages else ageless(names)) if name not in without]
    return fit_columns(kept, statistics(view, nodes)[:, [names.index(name) for name in kept]], log=log)


def preprocessing_for(
    store: Store, cut: int, config: RunConfig, *, accounts_alone: bool = False, known: NeighbourLabels | None = None
) -> Preprocessing:
    """Learnt from what is before the cut, and nothing else.

    Args:
        accounts_alone: For a model that knows accounts by their own features only: by default these are statistics
            besides the node table, where there is one.
        known: Labels of accounts, to be looked up if the configuration says so.
    """
    features = config.features
    if features.known and known is None:
        raise UsageError("features.known: looks up labels of accounts, and links have none (got true). Leave it out.")
    return fit_preprocessing(
        store.as_of(cut),
        nodes=features.nodes or _default_kinds(store, accounts_alone),
        d_random=features.d_random,
        ages=features.ages,
        flows=features.flows,
        with_gap=features.gaps,
        clock=features.clock,
        pairs=features.pairs,
        ranks=features.ranks,
        known=known if features.known else None,
    )


def _default_kinds(store: Store, accounts_alone: bool) -> tuple[NodeKind, ...]:
    if store.node_features is None:
        return ("statistics",)
    return ("given", "statistics") if accounts_alone else ("given",)


def input_spec(preprocessing: Preprocessing) -> InputSpec:
    """Widths of the inputs, and the periods from which the time encoding's frequencies start."""
    times = preprocessing.times
    shortest = 1 / times.unit if times.steps else _MINUTE_IN_DAYS
    pairs, ranks = (0 if asked is None else len(asked.names) for asked in (preprocessing.pairs, preprocessing.ranks))
    known = 0 if preprocessing.known is None else len(preprocessing.known.names)
    return InputSpec(
        preprocessing.d_node,
        preprocessing.d_event,
        shortest,
        max(times.span, 2 * shortest),
        pairs,
        ranks + known,
        known,
    )
