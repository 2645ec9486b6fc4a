"""When the log is folded, over HTTP and by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.live.streams import scored_anew
from tests.service.conftest import Made, Served, until
from tests.service.forked_servers import end

from gtea.service.log_checkpoints import CheckpointPlan, Checkpoints
from gtea.service.path_keys import path_key
from gtea.store.store import Store


def test_events_reach_the_store_and_scores_stay(made: Made, serve: Callable[..., Served], tmp_path: Path) -> None:
    here = made.copied(tmp_path)
    server = serve(here, "--checkpoint-events", "4", "--memory", "1GB")
    rows = [("b", f"folded-{i}", 150 + i, 1.0 + i, "card") for i in range(5)]
    assert server.post(rows).status == 200
    before = Store.open(here.folder / "store").num_events
    until(lambda: Store.open(here.folder / "store").num_events > before, server.printed)
    until(lambda: b"gtea_log_events 0" in server.get("/metrics").body, server.printed)
    assert b"gtea_checkpoints_total 1" in server.get("/metrics").body
    more = [("d", "later", 170, 9.0, "atm")]
    assert server.post(more, "k").json["first"] == 6
    end(server.process)
    server = serve(here)
    assert server.post(more, "k").json["repeated"]
    anew = scored_anew(here.model, here.rows + rows + more, directed=False, loops=True)
    for account in ("b", "d", "later", "folded-3"):
        assert server.get(f"/accounts/{path_key(account)}").json["score"] == pytest.approx(anew[account], abs=1e-6)
    end(server.process)


def test_a_fold_that_fails_is_counted_and_tried_again_later(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    told: list[int] = []
    checkpoints = Checkpoints(tmp_path / "none", tmp_path, CheckpointPlan(events=10, seconds=3_600), told.append)
    checkpoints.consider(5, 14)
    checkpoints.consider(5, 5)
    assert checkpoints.done == checkpoints.failed == 0
    checkpoints.consider(5, 15)
    deadline = time.monotonic() + 60
    while not checkpoints.failed:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert (checkpoints.failed, checkpoints.done, told) == (1, 0, [])
    assert "the log could not be folded into the store" in caplog.text
    checkpoints.consider(5, 15)
    time.sleep(0.2)
    assert checkpoints.failed == 1


def test_an_event_does_not_wait_for_ever(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "none", tmp_path, CheckpointPlan(events=10, seconds=0.0), lambda held: None)
    checkpoints.consider(0, 1)
    deadline = time.monotonic() + 60
    while not checkpoints.failed:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_no_fold_begins_while_they_are_held(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "none", tmp_path / "log", CheckpointPlan(events=1), lambda held: None)
    with checkpoints.held():
        checkpoints.consider(0, 5)
        assert not checkpoints.running
        assert checkpoints.failed == 0
    checkpoints.consider(0, 5)
    deadline = time.monotonic() + 60
    while not checkpoints.failed and time.monotonic() < deadline:
        time.sleep(0.02)
    assert checkpoints.failed == 1
