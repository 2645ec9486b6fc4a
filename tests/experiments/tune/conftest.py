"""A tiny store with labels, settings that train in a moment, and searches over them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gtea.config import RunConfig
from gtea.datasets.payments import PaymentsSpec, write_payments
from gtea.experiments.tune.space import Space, read_space
from gtea.ingestion.ingest import ingest
from gtea.training.request import LinkRequest, NodeRequest

QUICK = (
    "model.d_node=4", "model.d_edge=4", "model.d_mlp=4", "model.d_time=4", "sampling.fanout=2", "sampling.max_events=4",
    "sampling.batch_size=32", "train.epochs=3", "model.num_layers=1",
)  # fmt: skip
SPACE = """
[model]
attention = ["sparsemax", "softmax"]
[train]
lr = [0.001, 0.01, 0.1]
"""


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the store s and labels.csv."""
    folder = tmp_path_factory.mktemp("payments")
    events, _ = write_payments(PaymentsSpec(accounts=100, events=1000, illicit_share=0.4), folder)
    ingest(events, src="payer", dst="payee", time="timestamp", features=["amount"], time_unit="s", out=folder / "s")
    return folder


@pytest.fixture
def nodes(data: Path) -> Callable[..., NodeRequest]:
    def make(*settings: str, labels: Path | None = None) -> NodeRequest:
        return NodeRequest.read(data / "s", labels or data / "labels.csv", settings=[*QUICK, *settings], device="cpu")

    return make


@pytest.fixture
def links(data: Path) -> LinkRequest:
    return LinkRequest.read(data / "s", settings=[*QUICK, "train.epochs=1"], device="cpu")


@pytest.fixture
def space_of(tmp_path: Path) -> Callable[..., Space]:
    def make(text: str = SPACE, base: RunConfig | None = None) -> Space:
        path = tmp_path / "space.toml"
        path.write_text(text)
        return read_space(path, base or RunConfig())

    return make
