"""A model of accounts, and a store that grew after it was trained."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.training.test_baselines import node_run, payers, stored

from gtea.ingestion.append import append
from gtea.store.store import Store
from gtea.training.fit import train_task
from gtea.training.loop import no_report

Event = tuple[str, str, int, float]


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A store of 800 steps, and a model that was trained before its last steps."""
    folder = tmp_path_factory.mktemp("monitored")
    store = stored(payers(), folder / "s")
    train_task(node_run(store, folder / "m", "tree", as_of=None), no_report)
    return store.path, folder / "m"


@pytest.fixture
def grown(trained: tuple[Path, Path], tmp_path: Path) -> Callable[..., Store]:
    """The store with more events, in a copy."""

    def grow(events: list[Event], name: str = "grown") -> Store:
        shutil.copytree(trained[0], tmp_path / name)
        columns = dict(zip(("src", "dst", "time", "amount"), map(list, zip(*events, strict=True)), strict=True))
        return append(tmp_path / name, pa.table(columns))

    return grow


def like_before(start: int, stop: int, factor: float = 1.0, prefix: str = "u") -> list[Event]:
    """Events such as the model was trained with, or with other amounts, or of other accounts."""
    draw = np.random.default_rng(start)
    return [
        (f"{prefix}{u:03}", f"s{draw.integers(10)}", time, float(factor * (1 + 8 * (u % 2)) * draw.uniform(0.5, 1.5)))
        for time, u in zip(range(start, stop), draw.integers(0, 200, stop - start).tolist(), strict=True)
    ]
