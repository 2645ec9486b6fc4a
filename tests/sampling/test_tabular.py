"""Rows of numbers for models that sample nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from gtea.config import FeaturesConfig, RunConfig
from gtea.features.neighbour_labels import NeighbourLabelShares, neighbour_labels_of
from gtea.features.node_features import HeadInputs, NodeFeatures
from gtea.features.pair_statistics import PAIR_STATISTICS
from gtea.features.preprocessing import fit_preprocessing, input_spec, preprocessing_for
from gtea.sampling.tabular import NodeRows, PairRecency, PairRows
from gtea.store.memory import store_in_memory
from gtea.store.store import Store


def test_node_rows_are_features_and_neighbour_labels(random_store: Callable[..., Store]) -> None:
    store = random_store()
    view, nodes = store.as_of(120), np.array([4, 0, 9])
    labels = neighbour_labels_of(store, np.arange(10), np.arange(10) % 2, ["bad", "good"])
    fitted = fit_preprocessing(view, FeaturesConfig(rank_inputs=True), labels=labels)
    rows = NodeRows(view, fitted).batch(nodes)
    shares = HeadInputs(view, fitted.rank_inputs, fitted.neighbour_labels).label_shares(nodes)
    assert shares is not None
    wanted = np.concatenate([NodeFeatures(view, fitted.nodes).rows(nodes), shares], axis=1)
    assert torch.equal(rows, torch.from_numpy(wanted))
    without = NodeRows(view, fit_preprocessing(view)).batch(nodes)
    assert torch.equal(without, rows[:, : without.shape[1]])


@pytest.mark.parametrize("cached", [False, True])
def test_trees_of_a_hybrid_read_features_of_their_own(random_store: Callable[..., Store], cached: bool) -> None:
    store = random_store()
    view, nodes = store.as_of(120), np.array([4, 0, 9])
    labels = neighbour_labels_of(store, np.arange(10), np.arange(10) % 2, ["bad", "good"])
    config = RunConfig(features=FeaturesConfig(neighbour_labels=True))
    fitted = preprocessing_for(store, 120, config, for_trees=True, labels=labels)
    assert fitted.tree_nodes is not None
    shares = np.sqrt(NeighbourLabelShares(view, labels).rows(nodes)).astype(np.float32)
    wanted = np.concatenate([NodeFeatures(view, fitted.tree_nodes).compute(nodes), shares], axis=1)
    rows = NodeRows(view, fitted, cached=cached)
    for _ in range(2):
        assert torch.equal(rows.batch(nodes), torch.from_numpy(wanted))
        assert torch.equal(rows.batch(nodes[::-1], epoch=3), torch.from_numpy(wanted[::-1].copy()))
    spec = input_spec(fitted)
    assert wanted.shape[1] == spec.d_tree_inputs
    own = NodeFeatures(view, fitted.nodes).compute(nodes)
    np.testing.assert_array_equal(wanted[:, : spec.d_own_features], own)
    np.testing.assert_array_equal(wanted[:, -spec.d_neighbour_labels :], shares)


def test_pair_rows_are_statistics_as_they_are(random_store: Callable[..., Store]) -> None:
    view, src, dst = random_store().as_of(120), np.array([1, 2, 3]), np.array([2, 9, 3])
    fitted = fit_preprocessing(view)
    rows = PairRows(view, fitted).batch(src, dst)
    statistics = fitted.pair_statistics_of(view).rows(src, dst)
    assert rows.shape == (3, len(PAIR_STATISTICS))
    np.testing.assert_array_equal(rows.numpy(), statistics)


def test_recency_is_infinite_for_those_who_never_met() -> None:
    store = store_in_memory(["a", "b", "a"], ["b", "c", "b"], [0, 86_400, 2 * 86_400])
    view = store.as_of(4 * 86_400)
    a, b, c = (store.node(name) for name in "abc")
    found = PairRecency(view, fit_preprocessing(view)).batch(np.array([a, b, a]), np.array([b, c, c]))
    assert found.tolist() == [2.0, 3.0, float("inf")]
