"""Runs searches in children that are killed and resumed, and says what each left. For test_killed_search.py.

usage: killed_search_driver.py DATA FOLDER kills|steps COUNT SEED

Children are forked after one quiet search, when everything is imported and compiled. ``kills`` strikes with kill -9
from outside, at random moments; ``steps`` ends them from inside, just before an operation on a file. One JSON line a
search goes to standard output.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.experiments.tune.conftest import QUICK, SPACE

from gtea.experiments.tune.pruning import MedianRule
from gtea.experiments.tune.search import Search, train_best, tune
from gtea.experiments.tune.space import read_space
from gtea.training.request import NodeRequest

FILE_EVENTS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree"}
DIED = 9
EXTRA = ("train.metric=roc_auc", "model.dropout=0.1")


def search(data: Path, out: Path) -> None:
    request = NodeRequest.read(data / "s", data / "labels.csv", settings=[*QUICK, *EXTRA], device="cpu")
    space = out.parent / "space.toml"
    space.write_text(SPACE)
    asked = Search("random", read_space(space, request.config), 4, seed=4, rule=MedianRule(1, 1))
    trials = tune(request, asked, out, lambda standing: None, resume=True)
    train_best(request, trials, out)


def start(data: Path, out: Path, step: int = 0) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            count = die_at(step, out)
            search(data, out)
            (out.parent / "operations").write_text(str(count()))
            code = 0
        finally:
            os._exit(code)
    return child


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def die_at(step: int, out: Path) -> Callable[[], int]:
    """Die before that operation on a file; gives how many there were so far."""
    count = 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        if event in FILE_EVENTS and str(out) in str(arguments):
            count += 1
            if count == step:
                os._exit(DIED)

    sys.addaudithook(hook)
    return lambda: count


def left(out: Path) -> dict[str, Any]:
    """What was found, without durations, and the names of all that is there."""
    trials = [json.loads(path.read_text()) for path in sorted((out / "trials").iterdir())]
    digests = {
        name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in ("best.toml", "model/model.safetensors")
    }
    names = sorted(str(path.relative_to(out)) for path in out.rglob("*"))
    return {"trials": [{**trial, "seconds": 0} for trial in trials], "digests": digests, "names": names}


def kills(data: Path, out: Path, count: int, chance: random.Random, seconds: float) -> None:
    """Searches that are killed three times each, until so many kills have struck."""
    while count > 0:
        shutil.rmtree(out, ignore_errors=True)
        told, struck = [], 0
        for _ in range(3):
            child = start(data, out)
            told.append(chance.uniform(0, seconds))
            time.sleep(told[-1])
            os.kill(child, signal.SIGKILL)
            code = ended(child)
            assert code in (0, -signal.SIGKILL)
            struck += code != 0
        assert ended(start(data, out)) == 0
        print(json.dumps({"left": left(out), "struck": struck, "told": told}), flush=True)
        count -= struck


def steps(data: Path, out: Path, count: int, chance: random.Random) -> None:
    """Death just before some of the operations on files, and before as many of the resumed search."""
    operations = int((out.parent / "operations").read_text())
    for step in chance.sample(range(1, operations + 1), count):
        shutil.rmtree(out, ignore_errors=True)
        assert ended(start(data, out, step)) == DIED
        again = chance.randint(1, operations)
        assert ended(start(data, out, again)) in (0, DIED)
        assert ended(start(data, out)) == 0
        print(json.dumps({"left": left(out), "struck": 1, "told": [step, again]}), flush=True)


def main() -> None:
    data, folder, mode = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    count, chance = int(sys.argv[4]), random.Random(int(sys.argv[5]))
    search(data, folder / "warm")
    began = time.monotonic()
    assert ended(start(data, folder / "whole")) == 0
    seconds = time.monotonic() - began
    print(json.dumps({"left": left(folder / "whole"), "struck": 0}), flush=True)
    if mode == "kills":
        kills(data, folder / "killed", count, chance, seconds)
    else:
        steps(data, folder / "killed", count, chance)


main()
