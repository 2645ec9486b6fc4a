"""``--on local:N`` without folds: a worker that is killed costs time, and no byte."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gtea.errors import DataError, ModelError
from gtea.training import local_workers
from gtea.training.local_workers import _Furthest, _outcome, train_in_workers
from gtea.training.loop import TrainingReport, no_report
from gtea.training.request import NodeRequest
from gtea.training.request_record import RequestRecord

from .conftest import QUICK

GTEA = Path(sys.executable).with_name("gtea")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="there is no /proc to look for processes in")
def test_a_killed_worker_changes_no_byte(payments: Any, tmp_path: Path, quick: tuple[str, ...]) -> None:
    command = [
        *(str(GTEA), "train", str(payments.store.path), "--labels", str(payments.labels), *quick, "--device", "cpu"),
        *("--set", "train.epochs=4", "--set", "train.micro_batches=2"),
    ]
    environment = {**os.environ, "GTEA_CHECKPOINT_SECONDS": "0"}
    subprocess.run([*command, "--out", str(tmp_path / "plain")], check=True, capture_output=True)
    out = tmp_path / "killed"
    running = subprocess.Popen(
        [*command, "--out", str(out), "--on", "local:2"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for(out / "checkpoint.safetensors", running)
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    assert len(children) == 2
    os.kill(int(children[1]), signal.SIGKILL)
    told, notes = running.communicate(timeout=600)
    assert running.returncode == 0, notes
    said = [line for line in notes.splitlines() if not line.startswith("warning: ")]
    assert said == ["note: worker 1 was killed by SIGKILL; all go on from the last checkpoint"]
    assert "trained hybrid on" in told
    for name in ("model.safetensors", "metrics.jsonl", "metrics.json"):
        assert (out / name).read_bytes() == (tmp_path / "plain" / name).read_bytes(), name


def wait_for(path: Path, running: subprocess.Popen[Any]) -> None:
    while not path.exists():
        assert running.poll() is None, "it ended before it could be killed"
        time.sleep(0.005)


def answers_of(*answers: tuple[int, dict[str, Any]]) -> Any:
    waiting: Any = queue.Queue()
    for answer in answers:
        waiting.put(answer)
    return waiting


def test_how_workers_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_workers, "_SECONDS_TO_FOLLOW", 0.0)
    done, lost = {"done": True}, {"lost": ["gone"]}
    assert _outcome(answers_of((1, done), (1, {"died": 0}), (0, done)), 2, no_report) is None
    ended = ((0, lost), (0, {"died": 0}), (1, {"died": -9}))
    assert _outcome(answers_of(*ended), 2, no_report) == "worker 1 was killed by SIGKILL"
    assert _outcome(answers_of((1, {"died": -9})), 2, no_report) == "worker 1 was killed by SIGKILL"
    assert _outcome(answers_of((0, {"died": 7}), (1, lost), (1, {"died": 0})), 2, no_report) == (
        "worker 0 ended with code 7"
    )
    both = ((0, lost), (0, {"died": 0}), (1, lost), (1, {"died": 0}))
    assert _outcome(answers_of(*both), 2, no_report) == "the workers lost each other"
    with pytest.raises(DataError, match=r"^labels: wrong$"):  # though worker 1 ended first, with the code of the error
        _outcome(answers_of((1, {"died": 3}), (0, {"error": "DataError", "lines": ["labels: wrong"]})), 2, no_report)


def report(epoch: int, done: float) -> TrainingReport:
    return TrainingReport(Path(), epoch, 9, done, 1.0, 1.0, "accuracy", None)


def test_who_gets_no_further_is_given_up(payments: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = NodeRequest.read(payments.store.path, payments.labels, settings=[*QUICK, "train.micro_batches=2"])
    record, notes = RequestRecord.of(request, {"labels": payments.labels}), list[str]()
    reached = iter([0.5, 0.5, 0.75, 0.25, 0.75, 0.75, 0.75])

    def attempt(words: dict[str, Any], count: int, listener: Callable[[TrainingReport], None]) -> str:
        listener(report(0, next(reached)))
        return "worker 1 was killed by SIGKILL"

    monkeypatch.setattr(local_workers, "_attempt", attempt)
    with pytest.raises(ModelError, match=r"training: worker 1 was killed by SIGKILL, 3 times without getting further"):
        train_in_workers(2, request, record, str(tmp_path / "m"), None, no_report, notes.append)
    assert list(reached) == [0.75]
    assert set(notes) == {"worker 1 was killed by SIGKILL; all go on from the last checkpoint"}


def test_furthest_remembers_across_starts() -> None:
    seen: list[TrainingReport] = []
    watched = _Furthest(seen.append)
    watched(report(0, 0.5))
    assert watched.got_further()
    watched(report(0, 0.25))
    assert not watched.got_further()
    watched(report(1, 0.0))
    assert watched.got_further()
    assert len(seen) == 3
