"""Workers that torchrun has started, and where they listen."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from gtea.errors import UsageError
from gtea.training.process_group import _has_own_gpu
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
