"""A batch of alternatives gives what each gives alone."""

from __future__ import annotations

import numpy as np
import torch
from tests.explain.worlds import CPU, CUT, model_of, random_rows, small, store_of

from gtea.explain.account_row import AccountRow
from gtea.explain.alternative_pass import AlternativePass
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


def test_a_batch_is_one_by_one() -> None:
    for num_layers in (1, 2):
        around = around_of(num_layers)
        features = around._features
        with torch.inference_mode():
            row = AccountRow(around, int(np.diff(around.graph.node_offset).argmax()))
            kept = np.random.default_rng(0).random((6, len(row.neighbour))) < 0.7
            x = features.rows(np.full(6, row.node)) + np.arange(6, dtype=np.float32)[:, None]
            together = AlternativePass(row, kept, x, {}, ()).embed()
            alone = [AlternativePass(row, kept[i : i + 1], x[i : i + 1], {}, ()).embed() for i in range(6)]
        torch.testing.assert_close(together, torch.cat(alone))
