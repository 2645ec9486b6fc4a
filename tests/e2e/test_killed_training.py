"""gtea train, killed with kill -9 at any moment and resumed, ends with the bytes of the run that was never killed."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gtea.datasets.payments import PaymentsSpec, write_payments
from gtea.ingestion.ingest import ingest

GTEA = Path(sys.executable).with_name("gtea")
DRIVER = Path(__file__).with_name("killed_training_driver.py")
SETTINGS = (
    "model.d_node=8", "model.d_edge=8", "model.d_mlp=8", "model.d_time=4", "model.dropout=0.1", "sampling.fanout=4",
    "sampling.max_events=8", "sampling.batch_size=16", "train.lr=0.01",
)  # fmt: skip
# Sums are the same to the last bit with the same number of threads only.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "GTEA_CHECKPOINT_SECONDS": "0"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("payments")
    events, _ = write_payments(PaymentsSpec(accounts=100, events=1000, illicit_share=0.4), folder)
    ingest(events, src="payer", dst="payee", time="timestamp", features=["amount"], time_unit="s", out=folder / "s")
    return folder


def words_of(data: Path, task: str, *settings: str) -> list[str]:
    what = ("--task", "links") if task == "links" else ("--labels", str(data / "labels.csv"))
    chosen = [word for setting in (*SETTINGS, *settings) for word in ("--set", setting)]
    return ["train", str(data / "s"), *what, *chosen, "--device", "cpu"]


def driven(
    folder: Path, mode: str, count: int, seed: int, words: list[str], **environment: str
) -> list[dict[str, Any]]:
    command = [sys.executable, str(DRIVER), str(folder), mode, str(count), str(seed), "--", *words]
    run = subprocess.run(command, env={**ENVIRONMENT, **environment}, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"seed {seed}\n{run.stdout}\n{run.stderr}"
    return [json.loads(line) for line in run.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(("task", "count", "epochs"), [("nodes", 14, 6), ("links", 6, 2)])
def test_kill_9_at_random_moments(data: Path, tmp_path: Path, task: str, count: int, epochs: int) -> None:
    """At any time, between checkpoints and while the model is saved; killed runs are killed again."""
    words = words_of(data, task, f"train.epochs={epochs}", f"train.patience={epochs}")
    whole, *runs = driven(tmp_path, "kills", count, 1, words)
    for run in runs:
        assert run["learnt"] == whole["learnt"], run["told"]
    seen = Counter(kind for run in runs for kind in run["struck"])
    assert seen.total() == count
    assert len(seen) == 3


@pytest.mark.slow
def test_death_before_every_single_file_operation(data: Path, tmp_path: Path) -> None:
    words = words_of(data, "nodes", "train.epochs=1")
    whole, *runs = driven(tmp_path, "steps", 0, 0, words, GTEA_CHECKPOINT_SECONDS="1000")
    assert len(runs) > 20
    for run in runs:
        assert run["learnt"] == whole["learnt"], run["step"]


@pytest.mark.slow
def test_a_killed_cross_validation_goes_on(data: Path, tmp_path: Path) -> None:
    made = driven(tmp_path, "folds", 2, 0, [*words_of(data, "nodes", "train.epochs=2"), "--folds", "3"])
    assert len(made) == 6
    assert made[:3] == made[3:]


@pytest.mark.slow
@pytest.mark.parametrize("task", ["nodes", "links"])
def test_neither_another_run_nor_the_number_of_workers_changes_a_byte(data: Path, tmp_path: Path, task: str) -> None:
    whole, *others = driven(tmp_path, "workers", 3, 0, words_of(data, task, "train.epochs=2"))
    assert others == [whole] * 3


@pytest.mark.slow
def test_of_two_trainings_in_one_folder_one_is_refused(data: Path, tmp_path: Path) -> None:
    whole, *runs = driven(tmp_path, "race", 2, 0, words_of(data, "nodes", "train.epochs=1"))
    for run in runs:
        assert sorted(run["codes"]) == [0, 2]
        assert run["seeds"] == [1, 1] if run["codes"][0] == 0 else [2, 2]
        assert run["learnt"].keys() == whole["learnt"].keys()


@pytest.mark.slow
def test_killed_at_start_up_and_in_training_through_the_shell(data: Path, tmp_path: Path) -> None:
    words = words_of(data, "nodes", "train.epochs=4")

    def start(*place: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen([GTEA, *words, *map(str, place)], env=ENVIRONMENT, stdout=subprocess.DEVNULL)

    whole, folder = tmp_path / "whole", tmp_path / "killed"
    assert start("--out", whole).wait() == 0
    begun = start("--out", folder)
    time.sleep(random.Random(3).uniform(0, 1))
    begun.kill()
    assert begun.wait() < 0
    assert not (folder / "run.json").exists()
    training = start("--out", folder)
    while not (folder / "checkpoint.safetensors").exists():
        assert training.poll() is None
    training.kill()
    assert training.wait() < 0
    assert start("--resume", folder).wait() == 0
    one, other = ((place / "model.safetensors").read_bytes() for place in (whole, folder))
    assert hashlib.sha256(one).hexdigest() == hashlib.sha256(other).hexdigest()
