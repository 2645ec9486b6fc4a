"""Exact attention weights: those of the model's own pass over samples that leave nobody out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gtea.config import read_config
from gtea.datasets.payments import PaymentsSpec, write_payments
from gtea.ingestion.ingest import ingest
from gtea.sampling.collate import collator_for
from gtea.sampling.neighbours import NeighbourSampler
from gtea.scoring.attention_weights import attention_of
from gtea.scoring.scorer import NodeModel
from gtea.store.store import Store
from gtea.training.request import NodeRequest, run_once

EVERYBODY = 99


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("payments")
    events, _ = write_payments(PaymentsSpec(accounts=100, events=1000, illicit_share=0.4), folder)
    columns: dict[str, Any] = {"src": "payer", "dst": "payee", "time": "timestamp", "features": ["amount"]}
    return ingest(events, **columns, time_unit="s", out=folder / "s")


@pytest.mark.parametrize("attention", ["sparsemax", "softmax"])
def test_they_are_the_models_own(store: Store, tmp_path: Path, attention: str) -> None:
    sizes = ("model.d_node=4", "model.d_edge=4", "model.d_mlp=4", "model.d_time=4", "model.num_layers=1")
    settings = (*sizes, f"model.attention={attention}", f"sampling.fanout={EVERYBODY}", "train.epochs=1")
    request = NodeRequest.read(
        store.path, store.path.parent / "labels.csv", base=read_config(None, settings), device="cpu"
    )
    run_once(request, str(tmp_path / "m"), None, lambda report: None)
    model = NodeModel.open(tmp_path / "m", torch.device("cpu"))
    with torch.no_grad():
        model.gtea.edge_encoder.a.mul_(50)  # as if it had learnt for long what to leave out
    view, nodes = store.as_of(request.split().validation.as_of), np.array([7, 3, 50, 11])
    found = attention_of(model, store, view.cut, nodes)

    batch = collator_for(store, view.cut, model.preprocessing, model.config).batch(nodes)
    sampled = NeighbourSampler(view, EVERYBODY, 1, "uniform", model.config.train.seed).sample(nodes)
    alpha = model.gtea.embed(batch).alpha.detach().numpy()
    for i in range(len(nodes)):
        here = slice(found.offset[i], found.offset[i + 1])
        places = batch.neighbour[i].numpy()
        weights = {int(sampled.nodes[place]): alpha[i, k] for k, place in enumerate(places) if place >= 0}
        exact = dict(zip(found.neighbour[here].tolist(), found.alpha[here], strict=True))
        assert exact == pytest.approx(weights, abs=1e-6)
        assert len(exact) == len(view.neighbours(int(nodes[i])))
        assert not len(exact) or sum(exact.values()) == pytest.approx(1, abs=1e-6)
    assert found.offset[-1] > len(nodes)
    assert (found.alpha == 0).any() == (attention == "sparsemax")
