"""What many tests need: stores from a few rows, the command line, and a plain Python store to compare with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pyarrow as pa
import pytest
from tests import shapes
from tests.postgres import Postgres, programs, serving_postgres
from tests.s3_server import BUCKET, s3_server, server_program
from tests.web import Home, serving

from gtea.cli.main import main
from gtea.ingestion.ingest import ingest
from gtea.store.memory import store_in_memory
from gtea.store.store import Store

hypothesis.settings.register_profile(
    "gtea", deadline=None, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture], print_blob=True
)
hypothesis.settings.load_profile("gtea")
shapes.install()

Row = tuple[str, str, int, float]


@dataclass(frozen=True)
class Outcome:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def gtea(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Runs a gtea command in this process."""

    def run(*words: object) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        captured = capsys.readouterr()
        code = stop.value.code
        return Outcome(code if isinstance(code, int) else 1, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def s3() -> Iterator[dict[str, str]]:
    """The environment of a running server, without which what it would test is skipped."""
    if server_program() is None:
        if os.environ.get("GTEA_S3_SERVER") == "on":
            pytest.fail("there is no moto_server: run make .s3/.installed")
        pytest.skip("needs moto_server: make .s3/.installed")
    with s3_server() as environment:
        yield environment


@pytest.fixture(params=["memory", "file", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a folder where nothing is yet, in each kind of object store; and a cache of its own."""
    monkeypatch.setenv("GTEA_CACHE", str(tmp_path / "cache"))
    name = f"{tmp_path.parent.name}/{tmp_path.name}/there"
    if request.param == "s3":
        for key, value in request.getfixturevalue("s3").items():
            monkeypatch.setenv(key, value)
        return f"s3://{BUCKET}/{name}"
    return f"memory://{name}" if request.param == "memory" else f"file://{tmp_path}/there"


@pytest.fixture
def store_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Store]:
    """Makes a store from rows (src, dst, time, amount)."""

    def make(rows: Sequence[Row], **options: Any) -> Store:
        out = options.pop("out", None) or tmp_path_factory.mktemp("stores") / "s"
        return ingest(rows_table(rows), **{**EVENTS, "time_unit": "step", "out": out, **options})

    return make


@pytest.fixture(scope="session")
def random_store() -> Callable[..., Store]:
    """Makes small stores with ties in time, hubs, self-loops, two features, a category and a node table."""

    def make(
        seed: int = 0, num_events: int = 400, num_accounts: int = 30, directed: bool = False, unit: Any = "s"
    ) -> Store:
        generator = np.random.default_rng(seed)
        names = [f"account-{i}" for i in range(num_accounts)]
        popular = (num_accounts * generator.random(num_events) ** 2).astype(int)
        src = [names[i] for i in popular]
        dst = [names[i] for i in generator.integers(0, num_accounts, num_events)]
        return store_in_memory(
            src,
            dst,
            generator.integers(0, 200, num_events),
            features={"amount": generator.lognormal(3, 2, num_events), "fee": generator.normal(size=num_events)},
            categorical={"kind": [["card", "cash", "wire"][i] for i in generator.integers(0, 3, num_events)]},
            nodes={name: [float(i), i % 3] for i, name in enumerate(names[::2])} | {"nobody": [0.0, 1.0]},
            node_features=["age", "tier"],
            directed=directed,
            unit=unit,
        )

    return make


EVENTS = {"src": "src", "dst": "dst", "time": "time", "features": ["amount"]}


def rows_table(rows: Sequence[Row]) -> pa.Table:
    """Rows as an Arrow table."""
    columns: list[Any] = list(zip(*rows, strict=True)) or [[], [], [], []]
    types = {"src": pa.string(), "dst": pa.string(), "time": pa.int64(), "amount": pa.float64()}
    return pa.table({name: pa.array(list(c), t) for (name, t), c in zip(types.items(), columns, strict=True)})


def naive_history(rows: Sequence[Row], u: str, v: str, cut: int) -> list[tuple[int, bool, float]]:
    """The events between two accounts before a time, as u sees them, by looking at every row."""
    found = [(t, s == u, a) for s, d, t, a in rows if {s, d} == {u, v} and s != d and t < cut]
    return sorted(found, key=lambda event: event[0])


def naive_neighbours(rows: Sequence[Row], u: str, cut: int) -> dict[str, int]:
    """Each partner of an account before a time, and when they first met."""
    met: dict[str, int] = {}
    for s, d, t, _ in rows:
        if s != d and u in (s, d) and t < cut:
            other = d if s == u else s
            met[other] = min(t, met.get(other, t))
    return met


def seen_history(store: Store, u: str, v: str, cut: int) -> list[tuple[int, bool, float]]:
    """The same through a view."""
    history = store.as_of(cut).history(u, v)
    return [
        (int(t), bool(s), float(a)) for t, s, a in zip(history.time, history.sent, history.features[:, 0], strict=True)
    ]


def array_bytes(store: Store) -> dict[str, str]:
    """The digest of every array."""
    return {name: array["sha256"] for name, array in store.manifest.arrays.items()}


@pytest.fixture
def helpers() -> Any:
    """The plain functions of this file, for tests that can't import it."""
    import sys

    return sys.modules[__name__]


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets."""
    folder = os.environ.get("GTEA_DATA")
    if not folder:
        pytest.skip("GTEA_DATA is not set: it names the folder of real data sets")
    return Path(folder)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A web server on this machine that can be told to misbehave."""
    monkeypatch.setenv("no_proxy", "*")
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A real PostgreSQL server. Without one, tests are skipped; with GTEA_POSTGRES=on they fail."""
    place = programs()
    if place is None:
        reason = "no PostgreSQL: apt-get install postgresql"
        if os.environ.get("GTEA_POSTGRES") == "on":
            pytest.fail(reason)
        pytest.skip(reason)
    pytest.importorskip("adbc_driver_postgresql", reason="the extra [db] is not installed")
    with serving_postgres(place) as server:
        yield server
