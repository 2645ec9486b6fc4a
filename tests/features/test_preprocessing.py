from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from gtea.config import FeaturesConfig, RunConfig
from gtea.errors import UsageError
from gtea.features.account_statistics import net_flow_names, statistic_names, statistics, without_recency
from gtea.features.neighbour_labels import NeighbourLabels
from gtea.features.pair_statistics import PAIR_STATISTICS
from gtea.features.preprocessing import (
    Preprocessing,
    evenly_spaced,
    fit_events,
    fit_nodes,
    fit_preprocessing,
    fit_window,
    input_spec,
    preprocessing_for,
    sample_events,
)
from gtea.features.scaling import fit_columns
from gtea.store.export import events_in_time_order
from gtea.store.memory import store_in_memory
from gtea.store.store import Store


@pytest.mark.parametrize("limit", [10**6, 37])
def test_sampled_events_lie_before_the_cut(random_store: Callable[..., Store], limit: int) -> None:
    view = random_store().as_of(90)
    rows, gaps = sample_events(view, limit)
    visible = np.flatnonzero(view.arrays.event_time < 90)
    assert set(rows.tolist()) <= set(visible.tolist())
    assert len(set(rows.tolist())) == len(rows) == min(limit, len(visible))
    for row, gap in zip(rows, gaps, strict=True):
        edge = int(np.searchsorted(view.arrays.edge_offset, row, side="right")) - 1
        first = row == view.arrays.edge_offset[edge]
        assert gap == (0 if first else view.arrays.event_time[row] - view.arrays.event_time[row - 1])


def test_evenly() -> None:
    assert evenly_spaced(3, 5).tolist() == [0, 1, 2]
    assert evenly_spaced(10, 4).tolist() == [0, 2, 5, 7]
    assert evenly_spaced(0, 4).tolist() == []


def test_event_scalers_see_the_window_and_no_more(random_store: Callable[..., Store]) -> None:
    view = random_store().as_of(90)
    events = fit_events(view, max_words=2)
    inside = np.concatenate([part.features for part in events_in_time_order(view)])
    wanted = fit_columns(["amount", "fee"], inside)
    assert events.scaler.names == ("amount", "fee", "gap")
    np.testing.assert_allclose(events.scaler.mean[:-1], wanted.mean)
    np.testing.assert_allclose(events.scaler.std[:-1], wanted.std)
    assert [small > 0 for small in events.scaler.small] == [True, False, True]
    assert len(events.vocabularies[0].words) == 2


def test_the_gap_is_on_a_log_scale(random_store: Callable[..., Store]) -> None:
    events = fit_events(random_store().as_of(90), log="never")
    assert events.scaler.names == ("amount", "fee", "gap")
    assert [small > 0 for small in events.scaler.small] == [False, False, True]


def test_node_scalers_see_accounts_with_a_past(random_store: Callable[..., Store]) -> None:
    view = random_store().as_of(20)
    seen = np.array([node for node in range(view.store.num_nodes) if view.degree(node)])
    assert 0 < len(seen) < view.store.num_nodes
    nodes = fit_nodes(view, ["given", "statistics"], FeaturesConfig(recency=True))
    assert nodes.statistics is not None
    assert nodes.statistics == fit_columns(nodes.statistics.names, statistics(view, seen))
    assert view.store.node_in_table is not None
    assert view.store.node_features is not None
    in_table = seen[view.store.node_in_table[seen] == 1]
    assert nodes.given == fit_columns(["age", "tier"], view.store.node_features[in_table])


def test_the_window_begins_with_its_first_event() -> None:
    store = store_in_memory(["a", "b", "a"], ["b", "c", "c"], [100, 86_500, 10**6])
    scaler = fit_window(store.as_of(10**6))
    assert (scaler.origin, scaler.span) == (100 * 10**9, 1.0)


def test_an_empty_window_can_be_fitted(random_store: Callable[..., Store]) -> None:
    preprocessing = fit_preprocessing(
        random_store().as_of(0), FeaturesConfig(d_random=3), kinds=("given", "statistics", "random")
    )
    assert preprocessing.times.span == 0
    assert preprocessing.d_event == 1 + 3 + 1
    assert preprocessing.d_node == len(preprocessing.nodes.names)


def test_preprocessing_survives_json(random_store: Callable[..., Store]) -> None:
    features = FeaturesConfig(pair_statistics=True, rank_inputs=True, time_origin="calendar")
    preprocessing = fit_preprocessing(random_store().as_of(90), features, kinds=("statistics", "random"))
    assert preprocessing.pair_statistics is not None
    assert preprocessing.rank_inputs is not None
    assert Preprocessing.from_json(json.loads(json.dumps(preprocessing.to_json()))) == preprocessing


@pytest.mark.parametrize("kinds", [[], ["degree"], ["random", "random"]])
def test_node_features_that_cannot_be(random_store: Callable[..., Store], kinds: list[str]) -> None:
    with pytest.raises(
        UsageError, match=r"features\.nodes: must name one or more of given, statistics, random, each once"
    ):
        fit_nodes(random_store().as_of(), kinds)  # type: ignore[arg-type]


def test_vectors_of_no_length() -> None:
    with pytest.raises(UsageError, match=r"features\.d_random must be at least 1 \(got 0\)"):
        RunConfig(features=FeaturesConfig(d_random=0))


def test_settings_say_what_is_learnt(random_store: Callable[..., Store]) -> None:
    store = random_store()
    plain = preprocessing_for(store, 90, RunConfig())
    assert plain.nodes.kinds == ("given",)
    assert (plain.pair_statistics, plain.rank_inputs, plain.neighbour_labels) == (None, None, None)
    assert preprocessing_for(store, 90, RunConfig(), add_statistics=True).nodes.kinds == ("given", "statistics")
    features = FeaturesConfig(("random",), d_random=5, pair_statistics=True, rank_inputs=True, time_origin="calendar")
    rich = preprocessing_for(store, 90, RunConfig(features=features))
    assert rich == fit_preprocessing(store.as_of(90), features, kinds=("random",))
    assert (rich.d_node, rich.events.time_origin) == (5, "calendar")
    assert rich.pair_statistics is not None
    assert rich.rank_inputs is not None


@pytest.mark.parametrize("recency", [False, True])
@pytest.mark.parametrize("net_flow", [False, True])
def test_statistics_have_the_columns_asked_for(
    random_store: Callable[..., Store], recency: bool, net_flow: bool
) -> None:
    view = random_store().as_of(90)
    names = statistic_names(view.store.features)
    wanted = set(names if recency else without_recency(names)) - (
        set() if net_flow else set(net_flow_names(view.store.features))
    )
    fitted = fit_nodes(view, ["statistics"], FeaturesConfig(recency=recency, net_flow=net_flow))
    assert fitted.names == tuple(name for name in names if name in wanted)


def test_labels_are_read_only_where_they_are_asked_for(random_store: Callable[..., Store]) -> None:
    store, labels = random_store(), NeighbourLabels(("bad", "good"), (), ())
    assert preprocessing_for(store, 90, RunConfig(), labels=labels).neighbour_labels is None
    asked = RunConfig(features=FeaturesConfig(neighbour_labels=True))
    assert preprocessing_for(store, 90, asked, labels=labels).neighbour_labels == labels
    with pytest.raises(
        UsageError, match=r"features\.neighbour_labels: needs account labels, and the link task has none"
    ):
        preprocessing_for(store, 90, asked)


def test_the_spec_counts_what_is_read(random_store: Callable[..., Store]) -> None:
    labels = NeighbourLabels(("bad", "good"), (), ())
    features = FeaturesConfig(pair_statistics=True, rank_inputs=True)
    fitted = fit_preprocessing(random_store().as_of(90), features, labels=labels)
    spec = input_spec(fitted)
    assert (spec.d_node_features, spec.d_event_features) == (fitted.d_node, fitted.d_event)
    assert spec.d_pair_statistics == len(PAIR_STATISTICS)
    assert spec.d_neighbour_labels == len(labels.names) == 4
    assert spec.d_head_inputs == fitted.d_node + 4
