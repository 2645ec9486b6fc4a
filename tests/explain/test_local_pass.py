"""Nothing removed, the embedding is the exact one; hubs are read once for all accounts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.explain.worlds import CPU, CUT, model_of, random_rows, small, store_of

from gtea.explain.encoded_view import EncodedView
from gtea.explain.local_pass import LocalPass
from gtea.features.node_features import NodeFeatures
from gtea.sampling.collate import HistoryReader


@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("directed", [False, True])
def test_with_nothing_removed_it_is_the_exact_embedding(directed: bool, num_layers: int) -> None:
    store = store_of(random_rows(1), directed=directed)
    model = model_of(store, small("gtea-l+t", num_layers=num_layers))
    view = store.as_of(CUT)
    features = NodeFeatures(view, model.preprocessing.nodes)
    around = EncodedView(model.gtea, HistoryReader(view, model.preprocessing, 4), features, CPU)
    for node in range(store.num_nodes):
        with torch.inference_mode():
            local = LocalPass(around, node)
            kept = np.ones((2, len(local.neighbour)), dtype=bool)
            z = local.embed(kept, features.rows(np.array([node, node])), {})
        exact = model.embeddings(store, CUT, np.array([node, node]))  # type: ignore[union-attr]
        np.testing.assert_allclose(z.numpy(), exact, atol=1e-5)
        assert local.weights.sum() == pytest.approx(1)
