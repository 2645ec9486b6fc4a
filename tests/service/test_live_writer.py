"""Killed at any time, nothing that was acknowledged is lost, and nothing is counted twice."""

from __future__ import annotations

import collections
import http.client
import os
import random
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.live.streams import NAMES, NEW, Row, rows_at, scored_anew
from tests.service.conftest import COLUMNS, Made, Served, until
from tests.service.forked_servers import end

from gtea.live.live_scorer import LiveScorer
from gtea.service.event_log import Entry, EventLog, read_log
from gtea.service.live_writer import LiveWriter
from gtea.service.log_checkpoint_worker import fold
from gtea.service.path_keys import path_key
from gtea.service.published import Published
from gtea.store.schema import Schema
from gtea.store.store import Store

KILLS = int(os.environ.get("GTEA_SERVE_KILLS", "4"))
"""How often the server is killed. 100 take five minutes."""
CLIENTS = 3
FIRST_AMOUNT = 1_000_000.0
"""Amounts from here on are the names of events: each is sent as one event only."""


class Client(threading.Thread):
    """Sends events, each again under its key until it is acknowledged; then the next."""

    def __init__(self, number: int, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._generator = np.random.default_rng([7, number])
        self._stop_asked, self._next = stop, FIRST_AMOUNT + number * 100_000
        self.server: Served | None = None
        self.sent: dict[float, Row] = {}
        self.acknowledged: set[float] = set()
        self.refused = 0

    def run(self) -> None:
        while not self._stop_asked.is_set():
            rows = rows_at(self._generator, int(self._generator.integers(1, 5)), [*NAMES, *NEW], 95, 160, 4)
            rows = [(src, dst, t, self._next + i, kind) for i, (src, dst, t, _, kind) in enumerate(rows)]
            self._next += len(rows)
            self.sent |= {row[3]: row for row in rows}
            key = uuid.uuid4().hex
            while not self._send(rows, key):
                if self._stop_asked.is_set():
                    return
                time.sleep(0.01)
            self.acknowledged |= {row[3] for row in rows}

    def _send(self, rows: list[Row], key: str) -> bool:
        server = self.server
        try:
            answer = None if server is None else server.post(rows, key)
        except (OSError, http.client.HTTPException):
            return False  # killed before or while it answered
        if answer is None or answer.status == 503:
            return False
        self.refused += answer.status != 200
        return answer.status == 200 and bool(answer.json["accepted"] == len(rows))


def kept_amounts(made: Made) -> collections.Counter[float]:
    """The names of the events in the store and, behind them, in the log."""
    held = fold(str(made.folder / "store"), str(made.folder / "store.serve"), 0, "1GB")
    store = Store.open(made.folder / "store")
    _, rows = read_log(made.folder / "store.serve", held, 1 << 60)
    amounts = [float(amount) for amount in store.arrays.event_features[:, 0]] + [row.features[0] for row in rows]
    return collections.Counter(amount for amount in amounts if amount >= FIRST_AMOUNT)


def test_what_waits_together_is_computed_in_one_pass(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_MOST_WHILE_BUSY", "_SETTLED_WHILE_BUSY"):
        monkeypatch.setattr(f"gtea.service.live_writer.{name}", 0)
    store = Store.open(made.folder / "store")
    scorer, log = LiveScorer(made.model, store), EventLog(tmp_path, Schema.from_json(store.manifest.schema))
    shown = list[Published]()
    writer = LiveWriter(scorer, log, 0, lambda published, _: shown.append(published), lambda *_: None)
    sent: list[Row] = [("b", "d", 150, 3.0, "card"), ("new", "f", 151, 4.0, "cash")]
    entries = [
        Entry(str(i), b"", [scorer.reader.record(dict(zip(COLUMNS, row, strict=True)))]) for i, row in enumerate(sent)
    ]
    answers = [writer.submit(entry) for entry in entries]
    reading = writer.read("h")
    assert writer._cycle()
    assert len(shown) == 1
    anew = scored_anew(made.model, [*made.rows, *sent], directed=False, loops=True)
    for answer in answers:
        for end_score in answer.result(0).scores:
            assert end_score.new == pytest.approx(anew[end_score.account], abs=1e-6)
    standing = reading.result(0).standing
    node = standing.find("h")
    assert not standing.marked[node]
    assert standing.marked.any(), "nobody else was computed"
    assert standing.scores[node] == pytest.approx(anew["h"], abs=1e-6)
    log.close()


@pytest.mark.slow
def test_no_kill_loses_or_doubles_an_event(made: Made, serve: Callable[..., Served], tmp_path: Path) -> None:
    here, chance, stop = made.copied(tmp_path), random.Random(5), threading.Event()
    clients = [Client(number, stop) for number in range(CLIENTS)]
    # Folds are going on most of the time, so that kills hit them, too.
    options = ["--checkpoint-events", "40", "--memory", "1GB"]
    for kill in range(KILLS + 1):
        server = serve(here, *options)
        for client in clients:
            client.server = server
            if not kill:
                client.start()
        if kill < KILLS:
            time.sleep(chance.uniform(0.0, 2.0))
            end(server.process)
    time.sleep(0.5)
    stop.set()
    for client in clients:
        client.join(timeout=60)
    # On a busy machine, no fold may have outlived a server yet.
    until(lambda: Store.open(here.folder / "store").num_events > len(here.rows), server.printed, 300)
    acknowledged = set[float]().union(*(client.acknowledged for client in clients))
    scores = {account["account"]: account["score"] for account in server.get("/accounts?limit=1000").json["accounts"]}
    exact = {account: server.get(f"/accounts/{path_key(account)}").json["score"] for account in scores}
    end(server.process)
    kept = kept_amounts(here)
    lost, doubled = acknowledged - set(kept), {name for name, count in kept.items() if count > 1}
    print(f"{KILLS} kills, {len(acknowledged)} acknowledged: {len(lost)} lost, {len(doubled)} doubled")
    assert acknowledged
    assert sum(client.refused for client in clients) == 0
    assert (lost, doubled) == (set(), set())
    sent = {amount: row for client in clients for amount, row in client.sent.items()}
    anew = scored_anew(here.model, here.rows + [sent[amount] for amount in kept], directed=False, loops=True)
    assert set(exact) == {account for account in anew if account != "nobody"} & set(exact)
    for account, score in exact.items():
        assert score == pytest.approx(anew[account], abs=1e-6), account
