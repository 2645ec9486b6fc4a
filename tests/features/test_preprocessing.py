import json

import numpy as np
import pytest

from gtea.errors import UsageError
from gtea.features.account_statistics import statistics
from gtea.features.preprocessing import (
    Preprocessing,
    evenly_spaced,
    fit_events,
    fit_nodes,
    fit_preprocessing,
    fit_window,
    sample_events,
)
from gtea.features.scaling import fit_columns
from gtea.store.export import events_in_time_order
from gtea.store.memory import store_in_memory


@pytest.mark.parametrize("limit", [10**6, 37])
def test_sampled_events_lie_before_the_cut(random_store, limit):
    view = random_store().as_of(90)
    rows, gaps = sample_events(view, limit)
    visible = np.flatnonzero(view.arrays.event_time < 90)
    assert set(rows.tolist()) <= set(visible.tolist())
    assert len(set(rows.tolist())) == len(rows) == min(limit, len(visible))
    for row, gap in zip(rows, gaps, strict=True):
        edge = int(np.searchsorted(view.arrays.edge_offset, row, side="right")) - 1
        first = row == view.arrays.edge_offset[edge]
        assert gap == (0 if first else view.arrays.event_time[row] - view.arrays.event_time[row - 1])


def test_evenly():
    assert evenly_spaced(3, 5).tolist() == [0, 1, 2]
    assert evenly_spaced(10, 4).tolist() == [0, 2, 5, 7]
    assert evenly_spaced(0, 4).tolist() == []


def test_event_scalers_see_the_window_and_no_more(random_store):
    view = random_store().as_of(90)
    events = fit_events(view, max_words=2)
    inside = np.concatenate([part.features for part in events_in_time_order(view)])
    wanted = fit_columns(["amount", "fee"], inside)
    np.testing.assert_allclose(events.scaler.mean, wanted.mean)
    np.testing.assert_allclose(events.scaler.std, wanted.std)
    assert [small > 0 for small in events.scaler.small] == [True, False]
    assert len(events.vocabularies[0].words) == 2


def test_the_gap_is_on_a_log_scale(random_store):
    events = fit_events(random_store().as_of(90), with_gap=True, log="never")
    assert events.scaler.names == ("amount", "fee", "gap")
    assert [small > 0 for small in events.scaler.small] == [False, False, True]


def test_node_scalers_see_accounts_with_a_past(random_store):
    view = random_store().as_of(20)
    seen = np.array([node for node in range(view.store.num_nodes) if view.degree(node)])
    assert 0 < len(seen) < view.store.num_nodes
    nodes = fit_nodes(view, ["given", "statistics"])
    assert nodes.statistics == fit_columns(nodes.statistics.names, statistics(view, seen))
    in_table = seen[view.store.node_in_table[seen] == 1]
    assert nodes.given == fit_columns(["age", "tier"], view.store.node_features[in_table])


def test_the_window_begins_with_its_first_event():
    store = store_in_memory(["a", "b", "a"], ["b", "c", "c"], [100, 86_500, 10**6])
    scaler = fit_window(store.as_of(10**6))
    assert (scaler.origin, scaler.span) == (100 * 10**9, 1.0)


def test_an_empty_window_can_be_fitted(random_store):
    preprocessing = fit_preprocessing(
        random_store().as_of(0), nodes=("given", "statistics", "random"), with_gap=True, d_random=3
    )
    assert preprocessing.times.span == 0
    assert preprocessing.d_event == 1 + 3 + 1
    assert preprocessing.d_node == len(preprocessing.nodes.names)


def test_preprocessing_survives_json(random_store):
    preprocessing = fit_preprocessing(random_store().as_of(90), nodes=("statistics", "random"), with_gap=True)
    assert Preprocessing.from_json(json.loads(json.dumps(preprocessing.to_json()))) == preprocessing


@pytest.mark.parametrize("kinds", [[], ["degree"], ["random", "random"]])
def test_node_features_that_cannot_be(random_store, kinds):
    with pytest.raises(
        UsageError, match=r"features\.nodes: must name one or more of given, statistics, random, each once"
    ):
        fit_nodes(random_store().as_of(), kinds)


def test_vectors_of_no_length(random_store):
    with pytest.raises(UsageError, match=r"features\.d_random: must be at least 1 \(got 0\)"):
        fit_nodes(random_store().as_of(), ["random"], d_random=0)
