"""Experiments killed with kill -9 go on to the same results; side by side they are what they are one by one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

Run = Callable[..., Any]
Words = Callable[..., list[str]]
Outcomes = Callable[[Path], dict[str, dict[str, Any]]]
GTEA = Path(sys.executable).with_name("gtea")
DRIVER = Path(__file__).with_name("killed_driver.py")
# Sums are the same to the last bit with the same number of threads only.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
MODELS = ("--models", "gtea-l+t", "tree", "--protocol", "paper", "--folds", 3)
TIMES = ("seconds", "interrupted", "created")
LONGER = ("--set", "train.epochs=4", "--set", "train.patience=4", "--set", "model.dropout=0.1")


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on_to_the_same(words: Words, tmp_path: Path) -> None:
    asked = words("table1", tmp_path / "given below", *MODELS, *LONGER)
    where = asked.index("--out")
    command = [sys.executable, str(DRIVER), str(tmp_path), "3", "1", "--", *asked[:where], *asked[where + 2 :]]
    environment = {**ENVIRONMENT, "GTEA_CHECKPOINT_SECONDS": "0"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"
    whole, *others = (json.loads(line) for line in run.stdout.splitlines())
    assert len(whole["left"]["runs"]) == 6
    assert sum(other["struck"] for other in others) >= 2
    for other in others:
        assert other["left"] == whole["left"]


@pytest.fixture
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc to look for processes in")
@pytest.mark.usefixtures("one_thread")
def test_helpers_end_with_the_experiment_and_others_do_the_rest(
    gtea: Run, words: Words, tmp_path: Path, outcomes: Outcomes
) -> None:
    """Side by side, killed with kill -9; then the rest side by side; then the same one by one."""
    two, one = tmp_path / "two", tmp_path / "one"
    asked = words("table1", two, *MODELS, *LONGER, "--jobs", 2)
    running = subprocess.Popen([str(GTEA), *asked], env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 600  # the machine may have other things to do
    while not list(two.glob("runs/*/*.json")) and time.monotonic() < deadline:
        time.sleep(0.01)
    helpers = _children(running.pid)
    running.kill()
    running.wait()
    while any(_is_alive(helper) for helper in helpers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(helpers) == 2
    assert not any(_is_alive(helper) for helper in helpers)
    done = len(outcomes(two))
    for words_of in (asked, words("table1", one, *MODELS, *LONGER)):
        outcome = gtea(*words_of)
        assert outcome.code == 0, outcome.err
        assert len(outcome.err.splitlines()) == (6 - done if words_of is asked else 6)
    left, right = outcomes(one), outcomes(two)
    assert len(left) == len(right) == 6
    for stem, run in left.items():
        assert {**run, **dict.fromkeys(TIMES)} == {**right[stem], **dict.fromkeys(TIMES)}


def test_interrupted_it_says_so_and_goes_on(gtea: Run, words: Words, tmp_path: Path, outcomes: Outcomes) -> None:
    """Ctrl-C while the second run is under way."""
    asked = words("table1", tmp_path, "--models", "gtea-l+t", "--folds", 2, "--set", "train.epochs=120")
    patient = ("--set", "train.patience=120")

    def press() -> None:
        while not list(tmp_path.glob("models/*/*-seed1-*/checkpoint.safetensors")):
            time.sleep(0.005)
        # Python drops an interrupt that finds it in a finaliser; whoever sees nothing happen presses again.
        while not ended.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            ended.wait(3)

    ended, fingers = threading.Event(), threading.Thread(target=press)
    # Tests that were started in the background are born deaf to Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    fingers.start()
    try:
        outcome = gtea(*asked, *patient)
    finally:
        ended.set()
        fingers.join()
        signal.signal(signal.SIGINT, before)
    assert outcome.code == 130
    assert outcome.err.splitlines()[-1] == "interrupted; what was finished is kept"
    assert len(outcomes(tmp_path)) == 1
    assert gtea(*asked, *patient).code == 0
    assert [run["interrupted"] for run in outcomes(tmp_path).values()] == [False, True]


def _children(process: int) -> list[int]:
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(number) for number in path.read_text().split()] if path.exists() else []


def _is_alive(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
