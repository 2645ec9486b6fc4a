"""The estimator predicts exactly, or as it was trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gtea.datasets.payments import PaymentsSpec, write_payments
from gtea.estimators.classifier import GTEAClassifier
from gtea.ingestion.ingest import ingest
from gtea.tasks.labels import read_labels


def test_sampled_or_exact(tmp_path: Path) -> None:
    events, table = write_payments(PaymentsSpec(accounts=80, events=1000, illicit_share=0.4), tmp_path)
    store = ingest(
        events, src="payer", dst="payee", time="timestamp", features=["amount"], time_unit="s", out=tmp_path / "s"
    )
    labels = read_labels(table, store)
    accounts = [store.account(int(node)) for node in labels.nodes]
    sizes: dict[str, Any] = {"d_node": 6, "d_edge": 4, "max_events": 4, "epochs": 1, "device": "cpu"}
    for fanout, equal in ((1, False), (100, True)):
        model = GTEAClassifier(store, fanout=fanout, **sizes).fit(accounts, labels.targets)
        exact = model.predict_proba(accounts), model.transform(accounts)
        sampled = model.set_params(sampled=True).predict_proba(accounts), model.transform(accounts)
        for one, other in zip(exact, sampled, strict=True):
            assert np.allclose(one, other, atol=1e-5) == equal
