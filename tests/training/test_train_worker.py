"""A worker ends when the command that started it is gone."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
from pathlib import Path
from typing import Any

from gtea.runtime.worker_process import Answers, WorkerProcess
from gtea.training.request import NodeRequest
from gtea.training.request_record import RequestRecord

from .conftest import QUICK

MODULE = "gtea.training.train_worker"


def test_without_a_request_it_ends() -> None:
    ended = subprocess.run([sys.executable, "-P", "-m", MODULE], input="", capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_it_waits_for_others_no_longer_than_the_command_lives(payments: Any, tmp_path: Path) -> None:
    request = NodeRequest.read(payments.store.path, payments.labels, settings=[*QUICK, "train.micro_batches=2"])
    words = {"request": RequestRecord.of(request, {"labels": payments.labels}).to_json(), "number": 0, "count": 2}
    worker = subprocess.Popen([sys.executable, "-P", "-m", MODULE], stdin=subprocess.PIPE, text=True)
    assert worker.stdin is not None
    words |= {"meeting": str(tmp_path / "meeting"), "out": str(tmp_path / "m"), "resume": None}
    worker.stdin.write(json.dumps(words) + "\n")
    worker.stdin.close()
    assert worker.wait(60) == 1
    assert not (tmp_path / "m").exists()


def test_alone_it_trains_and_reports(payments: Any, tmp_path: Path) -> None:
    settings = [*QUICK, "train.epochs=1"]
    request = NodeRequest.read(payments.store.path, payments.labels, variant="gtea-l+t", settings=settings)
    record, answers = RequestRecord.of(request, {"labels": payments.labels}), Answers()
    words = {"request": record.to_json(), "number": 0, "count": 1, "meeting": str(tmp_path / "meeting")}
    worker = WorkerProcess(MODULE, 0, answers, threads=1)
    worker.send({**words, "out": str(tmp_path / "m"), "resume": None})
    said = [answers.get(timeout=300)[1]]
    while "report" in said[-1]:
        said.append(answers.get(timeout=300)[1])
    worker.close()
    assert said.pop() == {"done": True}
    assert said[-1]["report"]["folder"] == str(tmp_path / "m")
    assert (tmp_path / "m" / "model.safetensors").exists()
    worker = WorkerProcess(MODULE, 0, answers := queue.Queue(), threads=1)
    worker.send({**words, "out": str(tmp_path / "m"), "resume": str(tmp_path / "m")})
    assert answers.get(timeout=300)[1] == {
        "error": "UsageError", "lines": ["--out, --resume: give one of them: a folder to create, or a run to resume."]
    }  # fmt: skip
    worker.close()
