"""A tiny store with labels, settings that train in a moment, and the words that ask for experiments on them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gtea.datasets.payments import PaymentsSpec, write_payments
from gtea.experiments.runs.subject import Subject, own_subject
from gtea.ingestion.ingest import ingest

QUICK = (
    "model.d_node=4", "model.d_edge=4", "model.d_mlp=4", "model.d_time=4", "sampling.fanout=2", "sampling.max_events=4",
    "sampling.batch_size=32", "train.epochs=1", "model.num_layers=1", "train.lr=0.01",
)  # fmt: skip


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the store tiny.store and labels.csv."""
    folder = tmp_path_factory.mktemp("payments")
    events, _ = write_payments(PaymentsSpec(accounts=100, events=1000, illicit_share=0.4), folder)
    columns = {"src": "payer", "dst": "payee", "time": "timestamp", "features": ["amount"]}
    ingest(events, **columns, time_unit="s", out=folder / "tiny.store")  # type: ignore[arg-type]
    return folder


@pytest.fixture(scope="session")
def words(data: Path) -> Callable[..., list[str]]:
    """The words of a quick experiment: of accounts, or of links."""

    def make(what: str, out: Path, *more: object, task: str = "nodes") -> list[str]:
        labels = ["--labels", str(data / "labels.csv")] if task == "nodes" else []
        chosen = [word for setting in QUICK for word in ("--set", setting)]
        own = ["--store", str(data / "tiny.store"), *labels, "--out", str(out), "--device", "cpu"]
        return ["reproduce", what, *own, *chosen, *map(str, more)]

    return make


@pytest.fixture(scope="session")
def outcomes() -> Callable[[Path], dict[str, dict[str, Any]]]:
    """Reads the outcomes of all runs in a folder, by their stems."""

    def read(out: Path) -> dict[str, dict[str, Any]]:
        return {path.stem: json.loads(path.read_text()) for path in sorted((out / "runs").glob("*/*.json"))}

    return read


@pytest.fixture
def subject(data: Path) -> Subject:
    return own_subject(data / "tiny.store", data / "labels.csv")


@pytest.fixture
def links(data: Path) -> Subject:
    return own_subject(data / "tiny.store", None)
