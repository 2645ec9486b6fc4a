"""Preprocessing: scalers, vocabularies and neighbour labels, fitted on the training window before training starts.

``Preprocessing`` is frozen and saved with the model. It is fitted on a view, so nothing at or after the cut is read. At
most a million events (fewer if they have many columns) and a hundred thousand accounts are read, evenly spaced among
those before the cut in the order of the store. Nothing is random, and nothing after the cut changes which are read: the
same window gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from gtea.config import FeaturesConfig, InputSpec, NodeKind, RunConfig, TimeOrigin
from gtea.errors import UsageError
from gtea.features.account_statistics import net_flow_names, statistic_names, statistics, without_recency
from gtea.features.activity_time import activity_graph
from gtea.features.event_features import EventPreprocessing, numeric_columns
from gtea.features.neighbour_labels import NeighbourLabels
from gtea.features.node_features import CONTEXT_KINDS, NodeFeatures, NodePreprocessing, node_columns
from gtea.features.pair_statistics import PAIR_STATISTICS, PairStatistics
from gtea.features.partner_statistics import PartnerStatistics, partner_statistic_names
from gtea.features.rhythm_statistics import rhythm_statistic_names, rhythm_statistics
from gtea.features.scaling import ColumnScaler, LogScale, RankScaler, TimeScaler, fit_columns, fit_ranks, fit_times
from gtea.features.vocabulary import fit_vocabulary
from gtea.store.graph import graph_of
from gtea.store.store import Store
from gtea.store.view import View

_MAX_EVENTS = 1_000_000
_MAX_VALUES = 16_000_000
_MAX_NODES = 100_000
_MAX_PAIRS = 20_000
_MAX_WORDS = 32
_DAY = 86_400
_MINUTE_IN_DAYS = 1 / 1440
_DEFAULTS = FeaturesConfig()


@dataclass(frozen=True)
class Preprocessing:
    """How times, events, nodes and pairs become network inputs."""

    times: TimeScaler
    events: EventPreprocessing
    nodes: NodePreprocessing
    pair_statistics: RankScaler | None = None
    """None if the model reads no pair statistics."""
    rank_inputs: RankScaler | None = None
    """Ranks of the node features; None if the head does not read them."""
    neighbour_labels: NeighbourLabels | None = None
    """None if the head does not read them."""
    tree_nodes: NodePreprocessing | None = None
    """What the trees of a hybrid read of accounts; None if it is ``nodes``, or if there are no trees."""
    events_per_unit: float | None = None
    """How many events the graph had per unit of time in the training window: the unit of activity time. None for a
    model trained by gtea 0.1, whose pair statistics are in clock time."""

    @property
    def d_event(self) -> int:
        """The width of ``Histories.features``."""
        return len(self.events.names)

    @property
    def d_node(self) -> int:
        """The width of ``Batch.node_features``."""
        return len(self.nodes.names)

    def to_json(self) -> dict[str, Any]:
        """For the model's preprocessing.json."""
        optional = {name: getattr(self, name) for name in _OPTIONAL}
        return {
            "times": self.times.to_json(),
            "events": self.events.to_json(),
            "nodes": self.nodes.to_json(),
            **{name: None if part is None else part.to_json() for name, part in optional.items()},
            "events_per_unit": self.events_per_unit,
        }

    @staticmethod
    def from_json(content: dict[str, Any]) -> Preprocessing:
        """From a model's preprocessing.json."""
        return Preprocessing(
            TimeScaler.from_json(content["times"]),
            EventPreprocessing.from_json(content["events"]),
            NodePreprocessing.from_json(content["nodes"]),
            **{name: kind.from_json(content[name]) for name, kind in _OPTIONAL.items() if content.get(name)},
            events_per_unit=content.get("events_per_unit"),
        )

    def pair_statistics_of(self, view: View) -> PairStatistics:
        """What computes the pair statistics of a view."""
        if self.events_per_unit is None:
            return PairStatistics(graph_of(view), self.times.stored_per_unit(view.store.unit))
        return PairStatistics(activity_graph(view), self.events_per_unit)


_OPTIONAL: dict[str, Any] = {
    "tree_nodes": NodePreprocessing,
    "pair_statistics": RankScaler,
    "rank_inputs": RankScaler,
    "neighbour_labels": NeighbourLabels,
}


def preprocessing_for(
    store: Store,
    cut: int,
    config: RunConfig,
    *,
    add_statistics: bool = False,
    add_context: bool = False,
    for_trees: bool = False,
    labels: NeighbourLabels | None = None,
) -> Preprocessing:
    """Fit what the settings require on the events before the cut.

    Args:
        add_statistics: By default, use account statistics in addition to the node table. For models that read nothing
            else about accounts.
        add_context: By default, use statistics of partners and of rhythm, too.
        for_trees: Fit node features for the trees of a hybrid in addition: the network's, and those of context.
        labels: The training labels; read if ``features.neighbour_labels`` is set.
    """
    if config.features.neighbour_labels and labels is None:
        raise UsageError("features.neighbour_labels: needs account labels, and the link task has none. Leave it out.")
    kinds = config.features.nodes or _default_kinds(store, add_statistics or for_trees, add_context)
    used = labels if config.features.neighbour_labels else None
    view = store.as_of(cut)
    fitted = fit_preprocessing(view, config.features, kinds=kinds, labels=used)
    if not for_trees:
        return fitted
    return replace(fitted, tree_nodes=fit_nodes(view, tuple(dict.fromkeys((*kinds, *CONTEXT_KINDS))), config.features))


def fit_preprocessing(
    view: View,
    features: FeaturesConfig = _DEFAULTS,
    *,
    kinds: Sequence[NodeKind] = ("statistics",),
    labels: NeighbourLabels | None = None,
) -> Preprocessing:
    """Fit scalers and vocabularies on the events before the view's cut.

    Args:
        kinds: The sources of node features.
        labels: Neighbour labels for the head.
    """
    nodes = fit_nodes(view, kinds, features)
    fitted = Preprocessing(
        fit_window(view),
        fit_events(view, time_origin=features.time_origin),
        nodes,
        None,
        _fit_node_ranks(view, nodes) if features.rank_inputs else None,
        labels,
        events_per_unit=_events_per_unit(view),
    )
    return replace(fitted, pair_statistics=_fit_pairs(view, fitted)) if features.pair_statistics else fitted


def input_spec(preprocessing: Preprocessing) -> InputSpec:
    """Input sizes, and the shortest and longest period of the initial time encoding."""
    times = preprocessing.times
    shortest = 1 / times.unit if times.steps else _MINUTE_IN_DAYS
    pairs, ranks, labels = (
        0 if part is None else len(part.names)
        for part in (preprocessing.pair_statistics, preprocessing.rank_inputs, preprocessing.neighbour_labels)
    )
    longest = max(times.span, 2 * shortest)
    trees = preprocessing.tree_nodes
    d_tree, d_own = (0, 0) if trees is None else (len(trees.names) + labels, trees.d_own)
    return InputSpec(
        preprocessing.d_node,
        preprocessing.d_event,
        shortest,
        longest,
        pairs,
        ranks + labels,
        labels,
        d_tree,
        d_own if d_own < d_tree else 0,
    )


def fit_window(view: View, unit_seconds: int = _DAY) -> TimeScaler:
    """Fit the time scaler: the origin is the view's first event."""
    start, stop = view.event_ranges(np.arange(view.store.num_edges))
    visible = stop > start
    if not visible.any():
        return fit_times(view.cut, view.cut, view.store.unit, unit_seconds)
    time = view.arrays.event_time
    first, last = int(time[start[visible]].min()), int(time[stop[visible] - 1].max())
    return fit_times(first, last, view.store.unit, unit_seconds)


def fit_events(
    view: View,
    *,
    time_origin: TimeOrigin = _DEFAULTS.time_origin,
    log: LogScale = "auto",
    max_words: int = _MAX_WORDS,
) -> EventPreprocessing:
    """Fit the scalers and vocabularies of event columns.

    Args:
        log: Which numeric columns are put on a log scale; see ``gtea.features.scaling``.
        max_words: The maximum vocabulary size of a categorical column.
    """
    store, arrays = view.store, view.arrays
    rows, gap = sample_events(view, min(_MAX_EVENTS, _MAX_VALUES // max(1, len(store.features))))
    values = numeric_columns(arrays.event_features[rows], gap, store.unit)
    scaler = fit_columns((*store.features, "gap"), values, log=log, always_log=("gap",))
    codes = arrays.event_categories[rows]
    vocabularies = (
        fit_vocabulary(column, codes[:, i], store.vocabularies[i].__getitem__, max_words)
        for i, column in enumerate(store.categorical)
    )
    return EventPreprocessing(scaler, tuple(vocabularies), time_origin)


def fit_nodes(view: View, kinds: Sequence[NodeKind], features: FeaturesConfig = _DEFAULTS) -> NodePreprocessing:
    """Fit the scalers of node features on accounts with an event before the cut."""
    unknown = [kind for kind in kinds if kind not in get_args(NodeKind)]
    if unknown or not kinds or len(set(kinds)) != len(kinds):
        raise UsageError(
            f"features.nodes: must name one or more of {', '.join(get_args(NodeKind))}, each once (got {list(kinds)})."
        )
    nodes = _visible_nodes(view)
    return NodePreprocessing(
        tuple(sorted(kinds, key=CONTEXT_KINDS.__contains__)),
        _fit_given(view, nodes) if "given" in kinds else None,
        _fit_statistics(view, nodes, features) if "statistics" in kinds else None,
        features.d_random if "random" in kinds else 0,
        _fit_partners(view, nodes) if "partners" in kinds else None,
        _fit_rhythm(view, nodes) if "rhythm" in kinds else None,
    )


def _fit_node_ranks(view: View, nodes: NodePreprocessing) -> RankScaler:
    """Fit ranks of the scaled node features on accounts with an event before the cut."""
    return fit_ranks(nodes.names, NodeFeatures(view, nodes).compute(_visible_nodes(view)))


def _events_per_unit(view: View) -> float:
    """How many events the window has per unit of its time; at least one, for a window without length."""
    start, stop = view.event_ranges(np.arange(view.store.num_edges))
    return max(1.0, float((stop - start).sum()) / max(fit_window(view).span, 1.0))


def _fit_pairs(view: View, fitted: Preprocessing) -> RankScaler:
    """Fit ranks of pair statistics on pairs with an event before the cut, and as many with their dst ends exchanged."""
    start, stop = view.event_ranges(np.arange(view.store.num_edges))
    edges = np.flatnonzero(stop > start)
    edges = edges[evenly_spaced(len(edges), _MAX_PAIRS)]
    src, dst = (end[edges].astype(np.int64) for end in (view.arrays.edge_a, view.arrays.edge_b))
    rows = fitted.pair_statistics_of(view).rows(
        np.concatenate([src, src]), np.concatenate([dst, np.roll(dst, len(dst) // 2)])
    )
    return fit_ranks(PAIR_STATISTICS, rows, with_nan=True)


def sample_events(view: View, limit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers of evenly spaced events before the cut, and the time since the pair's previous event for each."""
    start, stop = view.event_ranges(np.arange(view.store.num_edges))
    offset = np.concatenate([[0], np.cumsum(stop - start)])
    rank = evenly_spaced(int(offset[-1]), limit)
    edge = np.searchsorted(offset, rank, side="right") - 1
    rows = start[edge] + rank - offset[edge]
    previous = np.maximum(rows - 1, start[edge])
    return rows, view.arrays.event_time[rows] - view.arrays.event_time[previous]


def evenly_spaced(count: int, limit: int) -> NDArray[np.int64]:
    """All of 0 .. count - 1 or, if there are more than ``limit``, that many at equal distances."""
    return np.arange(count) if count <= limit else np.arange(limit) * count // limit


def _default_kinds(store: Store, add_statistics: bool, add_context: bool) -> tuple[NodeKind, ...]:
    context = CONTEXT_KINDS if add_context else ()
    if store.node_features is None:
        return ("statistics", *context)
    return ("given", "statistics", *context) if add_statistics else ("given",)


def _visible_nodes(view: View) -> NDArray[np.int64]:
    start, stop = view.slot_ranges(np.arange(view.store.num_nodes))
    visible = np.flatnonzero(stop > start)
    return visible[evenly_spaced(len(visible), _MAX_NODES)]


def _fit_given(view: View, nodes: NDArray[np.int64]) -> ColumnScaler:
    names = node_columns(view.store)
    features, present = view.store.node_features, view.store.node_in_table
    assert features is not None
    assert present is not None
    return fit_columns(names, features[nodes[present[nodes] == 1]])


def _fit_partners(view: View, nodes: NDArray[np.int64]) -> ColumnScaler:
    return fit_columns(partner_statistic_names(view.store.features), PartnerStatistics(view).rows(nodes))


def _fit_rhythm(view: View, nodes: NDArray[np.int64]) -> ColumnScaler:
    return fit_columns(rhythm_statistic_names(view.store.features), rhythm_statistics(view, nodes))


def _fit_statistics(view: View, nodes: NDArray[np.int64], features: FeaturesConfig) -> ColumnScaler:
    names = statistic_names(view.store.features)
    dropped = () if features.net_flow else net_flow_names(view.store.features)
    kept = [name for name in (names if features.recency else without_recency(names)) if name not in dropped]
    return fit_columns(kept, statistics(view, nodes)[:, [names.index(name) for name in kept]])
