"""The weights of an account's slots: those that are left share what the others had."""

from __future__ import annotations

import numpy as np
import torch
from tests.explain.worlds import CPU, CUT, model_of, random_rows, small, store_of

from gtea.explain.account_row import AccountRow
from gtea.explain.encoded_view import EncodedView
from gtea.features.node_features import NodeFeatures
from gtea.sampling.collate import HistoryReader


def around_of(num_layers: int = 2) -> EncodedView:
    store = store_of(random_rows(1))
    model = model_of(store, small("gtea-l", num_layers=num_layers))
    view = store.as_of(CUT)
    return EncodedView(
        model.gtea, HistoryReader(view, model.preprocessing, 4), NodeFeatures(view, model.preprocessing.nodes), CPU
    )


def test_weights_are_shared_by_those_who_are_left() -> None:
    around = around_of()
    with torch.inference_mode():
        row = AccountRow(around, int(np.diff(around.graph.node_offset).argmax()))
        kept = ~np.eye(len(row.neighbour), dtype=bool)
        weights = row.attention(kept, ())
    assert (weights[~kept] == 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    free = np.flatnonzero(row.weights == 0)
    np.testing.assert_array_equal(weights[free], np.broadcast_to(row.weights, (len(free), len(row.weights))))


def test_attended_neighbours_are_those_with_a_weight_in_any_alternative() -> None:
    around = around_of()
    with torch.inference_mode():
        row = AccountRow(around, int(np.diff(around.graph.node_offset).argmax()))
        kept = np.ones((2, len(row.neighbour)), dtype=bool)
        kept[1, row.weights > 0] = False
        weights = row.attention(kept, ())
        found = row.attended(kept)
    np.testing.assert_array_equal(found, np.unique(row.neighbour[(weights > 0).any(axis=0)]))
    assert len(found) > len(np.unique(row.neighbour[row.weights > 0]))
