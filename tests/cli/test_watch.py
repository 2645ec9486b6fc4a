"""``gtea watch`` prints what changes, keeps bad lines, and goes on after a kill."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.live.streams import NAMES, NEW, Row, random_model, rows_at, scored_anew, store_on_disk
from tests.models.documents import FACTS, metrics_of

from gtea.models.model_folder import save_model
from gtea.scoring.scorer import NodeModel

Place = tuple[Path, Path, NodeModel, list[Row]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("watch")
    rows = rows_at(np.random.default_rng(3), 60, NAMES, 100, 130, 2)
    store = store_on_disk(rows, folder / "store")
    model = random_model(store, np.random.default_rng(4), "hybrid", nodes=("statistics",), recency=False, num_layers=2)
    saved = dataclasses.replace(model.saved, facts=FACTS, metrics=metrics_of(("bad", "ok")))
    save_model(folder / "model", saved, "A model.\n")
    return folder / "model", folder / "store", model, rows


def line_of(row: Row) -> str:
    return json.dumps(dict(zip(["src", "dst", "time", "amount", "kind"], row, strict=True))) + "\n"


def last_scores(text: str) -> dict[str, float]:
    found = [json.loads(line) for line in text.splitlines()]
    return {each["account"]: each["new"] for each in found}


def check(place: Place, printed: str, stream: list[Row]) -> None:
    """Everybody who is named has the score of a store with all events, and nobody is missing."""
    _, _, model, rows = place
    before = scored_anew(model, rows, directed=False, loops=True)
    after = scored_anew(model, rows + stream, directed=False, loops=True)
    found = last_scores(printed)
    for account, score in after.items():
        assert found.get(account, before.get(account)) == pytest.approx(score, abs=2e-6), account


def test_a_file_is_replayed_and_bad_lines_are_kept(gtea: Callable[..., Any], place: Place, tmp_path: Path) -> None:
    stream = rows_at(np.random.default_rng(5), 20, [*NAMES, *NEW], 120, 160, 4)
    lines = [line_of(row) for row in stream]
    lines.insert(3, '{"src": "b"\n')
    (tmp_path / "events.jsonl").write_text("".join(lines))
    options = ["--once", "--batch", "6", "--dead-letters", tmp_path / "dead", "--allow-any-date"]
    outcome = gtea("watch", place[0], place[1], "--events", tmp_path / "events.jsonl", *options)
    assert outcome.code == 0, outcome.err
    check(place, outcome.out, stream)
    assert "line 4: must be a JSON object" in outcome.err
    assert "20 events" in outcome.err
    letter = json.loads((tmp_path / "dead").read_text())
    assert (letter["line"], letter["text"]) == (4, '{"src": "b"')


def test_from_now_reads_the_header_and_nothing_else(gtea: Callable[..., Any], place: Place, tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("src,dst,time,amount,kind\nb,d,125,3,card\n")
    options = ["--once", "--from-now", "--allow-any-date"]
    outcome = gtea("watch", place[0], place[1], "--events", tmp_path / "events.csv", *options)
    assert (outcome.code, outcome.out) == (0, "")
    assert "0 events" in outcome.err
    outcome = gtea(
        "watch", place[0], place[1], "--events", tmp_path / "events.csv", *options, "--state", tmp_path / "s"
    )
    assert outcome.code == 2
    assert "--from-now, --state: give one of them" in outcome.err


def test_killed_while_a_pipe_flows_it_goes_on_from_its_state(place: Place, tmp_path: Path) -> None:
    stream = rows_at(np.random.default_rng(6), 30, [*NAMES, *NEW], 120, 160, 4)
    path, state = tmp_path / "events.jsonl", tmp_path / "live"
    path.write_text("".join(map(line_of, stream[:15])))
    words = ["watch", place[0], place[1], "--events", path, "--state", state, "--save-every", "0", "--allow-any-date"]
    command = [sys.executable, "-c", "import sys; from gtea.cli.main import main; main(sys.argv[1:])", *map(str, words)]
    with running(command) as first:
        until(first, state.exists)
        first.send_signal(signal.SIGKILL)
        printed = first.communicate()[0]
    with path.open("a") as file:
        file.write("".join(map(line_of, stream[15:])))
    stamp = state.stat().st_mtime_ns
    with running(command) as second:
        until(second, lambda: state.stat().st_mtime_ns > stamp)
        second.send_signal(signal.SIGINT)
        out, err = second.communicate(timeout=300)
    assert second.returncode == 0, err
    whole = [line for line in printed.splitlines() if line.endswith("}")]
    check(place, "\n".join([*whole, *out.splitlines()]), stream)
    assert "15 events since the store was made" in err


@contextlib.contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until(process: subprocess.Popen[str], done: Callable[[], bool]) -> None:
    while not done():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
