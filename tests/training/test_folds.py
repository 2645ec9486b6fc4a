"""Folds one by one, as tasks, and as tasks of which a process was killed: the same models."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.conftest import InThisProcess

from gtea.errors import UsageError
from gtea.runtime.progress import no_progress
from gtea.training.folds import run_folds, run_folds_on
from gtea.training.loop import no_report
from gtea.training.request import NodeRequest
from gtea.training.request_record import RequestRecord
from gtea.training.results import FoldsResult
from gtea.training.run_record import running_in

from .conftest import QUICK

GTEA = Path(sys.executable).with_name("gtea")


def request_of(payments: Any, *settings: str) -> NodeRequest:
    return NodeRequest.read(payments.store.path, payments.labels, variant="gtea-l+t", settings=[*QUICK, *settings])


def weights(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.safetensors")}


def test_as_tasks_they_are_the_same_models_and_figures(payments: Any, tmp_path: Path) -> None:
    request = request_of(payments, "train.epochs=1")
    record = RequestRecord.of(request, {"labels": payments.labels})
    plain = run_folds(request, 3, str(tmp_path / "plain"), None, no_report)
    seen: list[float | None] = []

    def on(out: str | None, resume: str | None = None) -> FoldsResult | None:
        return run_folds_on(
            InThisProcess(), request, record, 3, out, resume, None, lambda stage, done: seen.append(done)
        )

    made = on(str(tmp_path / "tasks"))
    assert made is not None
    assert {**made, "out": ""} == {**json.loads(json.dumps(plain)), "out": ""}
    assert weights(tmp_path / "tasks") == weights(tmp_path / "plain")
    assert len(weights(tmp_path / "plain")) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plain", "tasks"]
    with pytest.raises(UsageError, match=r"tasks: exists\. Continue with --resume"):
        on(str(tmp_path / "tasks"))
    assert on(None, str(tmp_path / "tasks")) == made


def test_a_fold_that_another_process_trains_is_left_to_it(payments: Any, tmp_path: Path) -> None:
    request = request_of(payments, "train.epochs=1")
    (tmp_path / "fold-1").mkdir()
    begun, at_work, ended = list[str](), threading.Event(), threading.Event()

    def other() -> None:
        with running_in(tmp_path / "fold-1"):
            at_work.set()
            ended.wait(600)

    thread = threading.Thread(target=other)
    thread.start()
    assert at_work.wait(600)

    def listener(report: Any) -> None:
        begun.append(report.folder.name)
        ended.set()

    run_folds(request, 3, None, str(tmp_path), listener)
    thread.join()
    assert list(dict.fromkeys(begun)) == ["fold-2", "fold-3", "fold-1"]


def test_data_that_are_others_than_those_of_the_job_are_refused(payments: Any, tmp_path: Path) -> None:
    request, labels = request_of(payments), tmp_path / "labels.csv"
    lines = payments.labels.read_text().splitlines()
    labels.write_text("\n".join(lines[:-3]))
    record = RequestRecord.of(request, {"labels": labels})
    with pytest.raises(UsageError, match="store, labels or kernels are not those that the job began with"):
        run_folds_on(InThisProcess(), request, record, 3, str(tmp_path / "out"), None, None, no_progress)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="there is no /proc to look for processes in")
def test_killed_processes_change_no_byte(payments: Any, tmp_path: Path) -> None:
    """First a worker is killed, whose training another goes on with; then the command, which goes on from there."""
    words = [word for setting in (*QUICK, "train.epochs=6") for word in ("--set", setting)]
    command = [
        *(str(GTEA), "train", str(payments.store.path), "--labels", str(payments.labels), "--folds", "3", *words),
        *("--variant", "gtea-l+t", "--device", "cpu"),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GTEA_CHECKPOINT_SECONDS": "0"}
    run = {"env": environment, "stdout": subprocess.DEVNULL}
    subprocess.run([*command, "--out", str(tmp_path / "plain")], check=True, **run)  # type: ignore[call-overload]
    command += ["--out", str(tmp_path / "killed"), "--on", "local:2"]
    running = subprocess.Popen(command, **run)  # type: ignore[call-overload]
    wait_for(tmp_path / "killed/fold-1/checkpoint.safetensors", running)
    workers = [int(number) for number in Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()]
    os.kill(workers[0], signal.SIGKILL)
    wait_for(tmp_path / "killed/fold-3/checkpoint.safetensors", running)
    running.kill()
    assert running.wait() == -signal.SIGKILL
    assert not (tmp_path / "killed/folds.json").exists()
    subprocess.run(command, check=True, **run)  # type: ignore[call-overload]
    assert weights(tmp_path / "killed") == weights(tmp_path / "plain")
    figures = [json.loads((tmp_path / name / "folds.json").read_text()) for name in ("plain", "killed")]
    assert {**figures[0], "out": ""} == {**figures[1], "out": ""}
    assert not (tmp_path / "killed.parts").exists()


def wait_for(path: Path, running: subprocess.Popen[bytes]) -> None:
    while not path.exists():
        assert running.poll() is None
        time.sleep(0.01)
