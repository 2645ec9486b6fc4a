"""Workers that torchrun has started, and where they listen."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed import HashStore  # type: ignore[attr-defined]  # public, but not marked so

from gtea.errors import UsageError
from gtea.training.process_group import _has_own_gpu, _unused_part
from gtea.training.workers import Workers

from .worlds import in_workers


@pytest.mark.slow
def test_torchrun_makes_the_same_bytes(payments: Any, tmp_path: Path, quick: tuple[str, ...], gtea: Any) -> None:
    words = [
        *("train", str(payments.store.path), "--labels", str(payments.labels), *quick, "--device", "cpu"),
        *("--variant", "gtea-l+t", "--set", "train.epochs=1", "--set", "train.micro_batches=2", "--json"),
    ]
    made = gtea(*words, "--out", tmp_path / "plain")
    assert made.code == 0, made.err
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "gtea"]
    ran = subprocess.run(
        [sys.executable, *launcher, *words, "--out", str(tmp_path / "shared")],
        capture_output=True, text=True, timeout=600, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count('"out"') == 1  # one of the two tells the result
    digests = [hashlib.sha256((tmp_path / name / "model.safetensors").read_bytes()) for name in ("plain", "shared")]
    assert digests[0].hexdigest() == digests[1].hexdigest()


def test_the_words_of_the_dead_mislead_nobody() -> None:
    """torchrun's store after a restart: worker 1 of the first start had come, and both had left addresses."""
    store = HashStore()
    for _ in range(2):
        parts: dict[int, Any] = {}

        def join(number: int, into: dict[int, Any] = parts) -> None:
            into[number] = _unused_part(store, number, 3)

        threads = [threading.Thread(target=join, args=(number,)) for number in range(3)]
        threads[0].start()
        time.sleep(0.2)  # the leader looks first
        for thread in threads[1:]:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(parts) == [0, 1, 2]
        assert not parts[1].check(["address"])
        parts[0].set("address", "0")
        assert [parts[number].get("address") for number in (1, 2)] == [b"0", b"0"]


def test_who_does_not_come_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GTEA_SILENT_SECONDS", "0")
    with pytest.raises(RuntimeError, match="2 of 3 workers did not come"):
        _unused_part(HashStore(), 0, 3)


def test_what_does_not_go_with_torchrun(payments: Any, gtea: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setenv("TORCH_CPP_LOG_LEVEL", "ERROR")  # put back afterwards
    words = ("train", payments.store.path, "--labels", payments.labels, "--out", "m")
    for option, value in (("on", "local:2"), ("folds", "3")):
        refused = gtea(*words, f"--{option}", value)
        assert refused.code == 2
        assert refused.err == (
            f"gtea: --{option}: torchrun has started processes to share one training. Leave it out.\n"
        )


def listening(workers: Workers) -> list[str]:
    """The addresses at which this process listens."""
    sockets = {str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()}
    found = []
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                found.append(words[1].split(":")[0])
    return found


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="there is no /proc to look for sockets in")
def test_on_one_machine_workers_listen_on_loopback_only() -> None:
    loopback = {"0100007F", "0" * 24 + "01000000"}
    for found in in_workers(2, listening):
        assert found
        assert set(found) <= loopback


def test_each_worker_of_a_machine_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    assert _has_own_gpu("auto", 1, 2)
    assert chosen == [1]
    assert not _has_own_gpu("cpu", 1, 2)
    with pytest.raises(UsageError, match=r"must have a GPU of its own \(got 3 workers and 2 GPUs\)"):
        _has_own_gpu("cuda", 2, 3)
