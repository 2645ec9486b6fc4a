"""A small payments store with labels, and settings that train in a second or two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from gtea.config import RunConfig, read_config
from gtea.datasets.payments import PaymentsSpec, write_payments
from gtea.ingestion.ingest import ingest
from gtea.store.store import Store
from gtea.tasks.labels import positive_class, read_labels
from gtea.tasks.splits import temporal_split
from gtea.training.node_task import NodeTask

QUICK = (
    "model.d_node=8", "model.d_edge=8", "model.d_mlp=8", "model.d_time=4", "sampling.fanout=4", "sampling.max_events=8",
    "sampling.batch_size=32", "train.epochs=3", "train.lr=0.01", "model.dropout=0.1",
)  # fmt: skip


@dataclass(frozen=True)
class Payments:
    folder: Path
    store: Store
    labels: Path


@pytest.fixture(scope="session")
def payments(tmp_path_factory: pytest.TempPathFactory) -> Payments:
    folder = tmp_path_factory.mktemp("payments")
    transactions, labels = write_payments(PaymentsSpec(accounts=200, events=3000, illicit_share=0.4), folder)
    store = ingest(
        transactions, src="payer", dst="payee", time="timestamp", features=["amount"], time_unit="s", out=folder / "s"
    )
    return Payments(folder, store, labels)


@pytest.fixture
def run_of(payments: Payments, tmp_path: Path) -> Callable[..., NodeTask]:
    """A quick run in a folder of its own."""

    def make(name: str = "m", *settings: str, config: RunConfig | None = None) -> NodeTask:
        labels = read_labels(payments.labels, payments.store)
        resolved = config or read_config(None, [*QUICK, *settings])
        split = temporal_split(labels, payments.store)
        return NodeTask(
            payments.store, labels, positive_class(labels), split, resolved, tmp_path / name, torch.device("cpu")
        )

    return make


@pytest.fixture
def quick() -> tuple[str, ...]:
    """The quick settings as words of the command line."""
    return tuple(word for setting in QUICK for word in ("--set", setting))
