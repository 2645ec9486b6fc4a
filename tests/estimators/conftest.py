"""A small payments store, labelled accounts of it, and one thread for networks as small as these."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from gtea.datasets.payments import PaymentsSpec, write_payments
from gtea.ingestion.ingest import ingest
from gtea.store.store import Store
from gtea.tasks.labels import read_labels


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Networks as small as these only wait for each other on several threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("payments")
    events, _ = write_payments(PaymentsSpec(accounts=80, events=1000, illicit_share=0.4), folder)
    return ingest(
        events, src="payer", dst="payee", time="timestamp", features=["amount"], time_unit="s", out=folder / "s"
    )


@pytest.fixture(scope="session")
def examples(store: Store) -> tuple[np.ndarray, np.ndarray]:
    """Accounts and labels, in an order that is not the store's."""
    labels = read_labels(store.path.parent / "labels.csv", store)
    order = np.random.default_rng(0).permutation(len(labels))
    accounts = np.array([store.account(int(node)) for node in labels.nodes])
    return accounts[order], np.array(labels.classes)[labels.targets][order]
