"""A small store that the tests of tasks share."""

from __future__ import annotations

import pyarrow as pa
import pytest

from gtea.ingestion.ingest import ingest
from gtea.store.store import Store


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Accounts a0..a19: each but the first appears at ten times its number, with an event from the one before."""
    numbers = range(1, 20)
    src, dst = [f"a{i - 1}" for i in numbers], [f"a{i}" for i in numbers]
    events = pa.table({"src": src, "dst": dst, "time": [10 * i for i in numbers]})
    out = tmp_path_factory.mktemp("shop") / "shop"
    return ingest(events, src="src", dst="dst", time="time", time_unit="step", out=out)
