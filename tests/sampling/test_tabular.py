"""Rows of numbers for models that sample nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from gtea.config import FeaturesConfig
from gtea.features.neighbour_labels import neighbour_labels_of
from gtea.features.node_features import HeadInputs, NodeFeatures
from gtea.features.pair_statistics import PAIR_STATISTICS
from gtea.features.preprocessing import fit_preprocessing
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
