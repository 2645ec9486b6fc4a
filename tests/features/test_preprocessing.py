from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gtea.config import FeaturesConfig, RunConfig
from gtea.errors import UsageError
from gtea.features.account_statistics import net_flow_names, statistic_names, statistics, without_recency
from gtea.features.activity_time import activity_graph
from gtea.features.neighbour_labels import NeighbourLabels
from gtea.features.pair_statistics import PAIR_STATISTICS, PairStatistics
from gtea.features.partner_statistics import PartnerStatistics, partner_statistic_names
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
from gtea.features.rhythm_statistics import rhythm_statistic_names, rhythm_statistics
from gtea.features.scaling import fit_columns
from gtea.store.export import events_in_time_order
from gtea.store.graph import graph_of
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


def test_what_trees_read_survives_json(random_store: Callable[..., Store]) -> None:
    store, labels = random_store(), NeighbourLabels(("bad", "good"), (), ())
    config = RunConfig(features=FeaturesConfig(neighbour_labels=True))
    fitted = preprocessing_for(store, 90, config, for_trees=True, labels=labels)
    assert fitted.tree_nodes is not None
    assert fitted.events_per_unit is not None
    assert Preprocessing.from_json(json.loads(json.dumps(fitted.to_json()))) == fitted


def test_preprocessing_of_gtea_0_1_has_no_trees_and_clock_time(random_store: Callable[..., Store]) -> None:
    view = random_store(unit="step").as_of(90)
    fitted = fit_preprocessing(view, FeaturesConfig(pair_statistics=True))
    content = json.loads(json.dumps(fitted.to_json()))
    del content["tree_nodes"], content["events_per_unit"], content["nodes"]["partners"], content["nodes"]["rhythm"]
    old = Preprocessing.from_json(content)
    assert (old.tree_nodes, old.events_per_unit) == (None, None)
    assert old == replace(fitted, events_per_unit=None)
    src, dst = np.arange(10), np.arange(10, 20)
    clock = PairStatistics(graph_of(view), fitted.times.stored_per_unit("step")).rows(src, dst)
    np.testing.assert_array_equal(old.pair_statistics_of(view).rows(src, dst), clock)
    assert fitted.events_per_unit is not None
    active = PairStatistics(activity_graph(view), fitted.events_per_unit).rows(src, dst)
    np.testing.assert_array_equal(fitted.pair_statistics_of(view).rows(src, dst), active)
    assert not np.array_equal(clock, active)


@pytest.mark.parametrize("unit", ["s", "step"])
@pytest.mark.parametrize("cut", [0, 1, 90, 1000])
def test_a_unit_of_activity_is_that_of_the_window(random_store: Callable[..., Store], unit: str, cut: int) -> None:
    view = random_store(unit=unit).as_of(cut)
    times = [int(time) for part in events_in_time_order(view) for time in part.time]
    assert len(times) == int((np.asarray(view.arrays.event_time) < cut).sum())
    scaler = fit_window(view)
    length = (max(times) - min(times)) / scaler.stored_per_unit(view.store.unit) if times else 0
    assert fit_preprocessing(view).events_per_unit == pytest.approx(max(1, len(times) / max(length, 1)))


def test_trees_read_what_the_network_reads_and_more(random_store: Callable[..., Store]) -> None:
    store = random_store()
    fitted = preprocessing_for(store, 90, RunConfig(), for_trees=True)
    assert fitted.nodes.kinds == ("given", "statistics")
    assert fitted.tree_nodes is not None
    assert fitted.tree_nodes.kinds == ("given", "statistics", "partners", "rhythm")
    assert fitted.tree_nodes == fit_nodes(store.as_of(90), fitted.tree_nodes.kinds)
    assert fitted.tree_nodes.names[: fitted.tree_nodes.d_own] == fitted.nodes.names
    asked = RunConfig(features=FeaturesConfig(("rhythm", "random")))
    fitted = preprocessing_for(store, 90, asked, for_trees=True)
    assert fitted.nodes.kinds == ("random", "rhythm")
    assert fitted.tree_nodes is not None
    assert set(fitted.tree_nodes.kinds) == {"random", "rhythm", "partners"}
    assert fitted.tree_nodes.kinds[0] == "random"


def test_context_is_added_where_the_user_names_nothing(random_store: Callable[..., Store]) -> None:
    store = random_store()
    found = preprocessing_for(store, 90, RunConfig(), add_statistics=True, add_context=True)
    assert found.nodes.kinds == ("given", "statistics", "partners", "rhythm")
    assert found.tree_nodes is None
    asked = RunConfig(features=FeaturesConfig(("statistics",)))
    assert preprocessing_for(store, 90, asked, add_statistics=True, add_context=True).nodes.kinds == ("statistics",)


def test_context_is_fitted_on_accounts_with_a_past(random_store: Callable[..., Store]) -> None:
    view = random_store().as_of(20)
    seen = np.array([node for node in range(view.store.num_nodes) if view.degree(node)])
    nodes = fit_nodes(view, ["partners", "rhythm"])
    assert nodes.partners == fit_columns(
        partner_statistic_names(view.store.features), PartnerStatistics(view).rows(seen)
    )
    assert nodes.rhythm == fit_columns(rhythm_statistic_names(view.store.features), rhythm_statistics(view, seen))


@pytest.mark.parametrize("kinds", [[], ["degree"], ["random", "random"]])
def test_node_features_that_cannot_be(random_store: Callable[..., Store], kinds: list[str]) -> None:
    every = "given, statistics, random, partners, rhythm"
    with pytest.raises(UsageError, match=rf"features\.nodes: must name one or more of {every}, each once"):
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
    assert (spec.d_tree_inputs, spec.d_own_features) == (0, 0)


@pytest.mark.parametrize("with_labels", [False, True])
def test_the_spec_counts_what_trees_read(random_store: Callable[..., Store], with_labels: bool) -> None:
    store, labels = random_store(), NeighbourLabels(("bad", "good"), (), ())
    config = RunConfig(features=FeaturesConfig(neighbour_labels=with_labels))
    fitted = preprocessing_for(store, 90, config, for_trees=True, labels=labels)
    spec, nodes = input_spec(fitted), fitted.tree_nodes
    assert nodes is not None
    assert nodes.partners is not None
    assert nodes.rhythm is not None
    context = len(nodes.partners.names) + len(nodes.rhythm.names)
    assert spec.d_own_features == fitted.d_node
    assert spec.d_tree_inputs == fitted.d_node + context + (4 if with_labels else 0)


def test_trees_on_context_alone_are_one_set(random_store: Callable[..., Store]) -> None:
    config = RunConfig(features=FeaturesConfig(("partners",)))
    spec = input_spec(preprocessing_for(random_store(), 90, config, for_trees=True))
    assert spec.d_own_features == 0
    assert spec.d_tree_inputs > spec.d_node_features
