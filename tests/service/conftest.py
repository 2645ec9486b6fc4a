"""A store, a model and servers of both, on loopback."""

from __future__ import annotations

import dataclasses
import http.client
import json
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.browser import axe, browser
from tests.live.streams import NAMES, Row, random_model, rows_at, store_on_disk
from tests.models.documents import FACTS, metrics_of
from tests.service.forked_servers import Start, end, forking_servers

from gtea.models.model_folder import save_model
from gtea.scoring.scorer import NodeModel
from gtea.tasks.thresholds import Threshold

__all__ = ["axe", "browser"]
COLUMNS = ("src", "dst", "time", "amount", "kind")


@dataclass(frozen=True)
class Made:
    """A store and a model, and what they were made of."""

    folder: Path
    model: NodeModel
    rows: list[Row]

    @property
    def words(self) -> list[str]:
        return [str(self.folder / "model"), str(self.folder / "store")]

    def copied(self, folder: Path) -> Made:
        """A copy that can be changed."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Made(folder, self.model, self.rows)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Served:
    """A server that runs."""

    process: int
    port: int
    made: Made
    printed: Path

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """One request on a connection of its own. Names of headers have ``_`` for ``-``."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, None, **headers)

    def post(self, rows: Sequence[Row], key: str | None = None, **headers: str) -> Answer:
        given = {"content_type": "application/x-ndjson", "idempotency_key": key or uuid.uuid4().hex, **headers}
        return self.ask("POST", "/events", body_of(rows), **given)

    def is_ready(self) -> bool:
        try:
            return self.get("/readyz").status == 200
        except OSError:
            return False


def body_of(rows: Sequence[Row]) -> bytes:
    return "".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in rows).encode()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("served")
    rows = rows_at(np.random.default_rng(3), 60, NAMES, 100, 130, 2)
    store = store_on_disk(rows, folder / "store")
    model = random_model(store, np.random.default_rng(4), "hybrid", nodes=("statistics",), recency=False, num_layers=2)
    decided = Threshold(0.46, "macro_f1", 0.5, 3, 0.5, 0.5, None, None, 6)
    documents: dict[str, Any] = {"facts": FACTS, "metrics": metrics_of(("bad", "ok"))}
    saved = dataclasses.replace(model.saved, thresholds={"threshold": decided.to_json()}, **documents)
    save_model(folder / "model", saved, "A model.\n")
    return Made(folder, NodeModel(saved, model.device), rows)


@pytest.fixture(scope="session")
def start(made: Made) -> Iterator[Start]:
    with forking_servers(made.folder / "model", made.folder / "store") as starter:
        yield starter


@pytest.fixture(scope="session")
def serve(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Served]:
    """Starts a server and waits until it is ready."""

    def started(made: Made, *options: str, ready: bool = True) -> Served:
        printed = tmp_path_factory.mktemp("printed") / "log"
        process = start(["serve", *made.words, "--port", "0", *options], printed)
        until(lambda: b"listening on" in (printed.read_bytes() if printed.exists() else b""), printed)
        port = int(printed.read_text().split("listening on ")[1].split()[0].rsplit(":", 1)[1])
        served = Served(process, port, made, printed)
        if ready:
            until(lambda: "ready:" in printed.read_text(), printed)
        return served

    return started


def until(done: Callable[[], bool], printed: Path, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, printed.read_text() if printed.exists() else "nothing printed"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def served(made: Made, serve: Callable[..., Served], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests of a module that leave it running."""
    found = serve(made.copied(tmp_path_factory.mktemp("shared")))
    yield found
    end(found.process)
