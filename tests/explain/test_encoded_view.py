"""Rows around accounts are read once, and not kept for ever."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.explain.worlds import CPU, CUT, model_of, random_rows, small, store_of

from gtea.explain import encoded_view
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


def test_rows_are_kept() -> None:
    around = around_of()
    with torch.inference_mode():
        (first,) = around.rows(np.array([2]))
        again, other = around.rows(np.array([2, 3]))
    assert first is again
    assert other is not first


def test_too_many_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoded_view, "_MAX_KEPT", 0)
    around = around_of()
    with torch.inference_mode():
        (first,) = around.rows(np.array([2]))
        (again,) = around.rows(np.array([2]))
    assert first is not again
    torch.testing.assert_close(again.before, first.before)
