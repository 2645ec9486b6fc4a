"""Runs ``gtea train`` in children that are killed and resumed, and says what each left. For test_killed_training.py.

usage: killed_training_driver.py FOLDER kills|steps|folds|workers|race COUNT SEED -- WORDS OF GTEA TRAIN...

Children are forked after one quiet run, when everything is imported and compiled: a try then costs a second and not
five. They are killed with kill -9 from outside all the same; ``steps`` ends them from inside, just before the k-th
operation on a file, for every k there is; ``race`` starts two in one folder. One JSON line a run goes to standard
output.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from gtea.cli.main import main as gtea

# All that says what was learnt. The others hold dates and durations.
SAME = ("model.safetensors", "preprocessing.json", "config.json", "metrics.json", "metrics.jsonl")
FILE_EVENTS = {"open", "os.rename", "os.mkdir", "os.remove"}
DIED = 9
KINDS = ("any time", "training", "saving")


def run(words: list[str]) -> int:
    try:
        with contextlib.redirect_stdout(sys.stderr):
            gtea(words)
    except SystemExit as stop:
        return int(stop.code or 0)


def start(words: list[str]) -> int:
    child = os.fork()
    if child == 0:
        os._exit(run(words))
    return child


def finish(words: list[str]) -> None:
    _, status = os.waitpid(start(words), 0)
    assert os.waitstatus_to_exitcode(status) == 0, words


def killed(child: int, reached: Callable[[], bool], delay: float) -> bool:
    """Kill at the moment; False if the child had ended by then, which it must have done well."""
    until = None
    while until is None or time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert os.waitstatus_to_exitcode(status) == 0
            return False
        if until is None and reached():
            until = time.monotonic() + delay
        time.sleep(0.0005)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
    return os.waitstatus_to_exitcode(status) != 0


def learnt(folder: Path) -> dict[str, str]:
    """Digests of what was learnt, and the names of all that is there: nothing may be left lying about.

    TensorBoard's files are a picture of the run and no part of it: who died before the first epoch was drawn has none.
    """
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in SAME}
    there = sorted(entry.name for entry in folder.iterdir() if entry.name != "tensorboard")
    return {**dict.fromkeys(there, ""), **digests}


def writes_of(path: Path) -> Callable[[], int]:
    """Counts how often a file has been replaced, as far as it is looked at often enough."""
    seen: set[tuple[int, int]] = set()

    def count() -> int:
        with contextlib.suppress(FileNotFoundError):
            facts = path.stat()
            seen.add((facts.st_ino, facts.st_mtime_ns))
        return len(seen)

    return count


def moment(kind: str, chance: random.Random, folder: Path, seconds: float) -> tuple[Callable[[], bool], float]:
    """When to kill: what to wait for, and how long to wait then."""
    if kind == "any time":
        return lambda: True, chance.uniform(0, seconds)
    if kind == "saving":
        return lambda: any(folder.glob("*model.safetensors*")), chance.uniform(0, 0.01)
    writes, enough = writes_of(folder / "checkpoint.safetensors"), chance.randint(1, 12)
    return lambda: writes() > enough, chance.uniform(0, 0.02)


def place(folder: Path) -> list[str]:
    return ["--resume" if (folder / "run.json").exists() else "--out", str(folder)]


def kills(words: list[str], folder: Path, count: int, chance: random.Random, seconds: float) -> None:
    """Runs that are killed up to four times each, until so many kills have struck."""
    kinds = [KINDS[number % len(KINDS)] for number in range(count)]
    chance.shuffle(kinds)
    while kinds:
        shutil.rmtree(folder, ignore_errors=True)
        struck, told = [], []
        for _ in range(min(len(kinds), chance.randint(1, 4))):
            reached, delay = moment(kinds[-1], chance, folder, seconds)
            told.append(f"{place(folder)[0]}, {kinds[-1]}, {delay:.4f} s")
            if not killed(start([*words, *place(folder)]), reached, delay):
                break
            struck.append(kinds.pop())
        finish([*words, *place(folder)])
        print(json.dumps({"struck": struck, "told": told, "learnt": learnt(folder)}), flush=True)


def steps(words: list[str], folder: Path) -> None:
    """Death just before every operation on a file that the run makes."""
    code, step = DIED, 0
    while code == DIED:
        step += 1
        shutil.rmtree(folder, ignore_errors=True)
        child = os.fork()
        if child == 0:
            die_at(step, folder)
            os._exit(run([*words, "--out", str(folder)]))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, DIED)
        if code == DIED:
            finish([*words, *place(folder)])
        print(json.dumps({"step": step, "code": code, "learnt": learnt(folder)}), flush=True)


def die_at(step: int, folder: Path) -> None:
    count = 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        if event in FILE_EVENTS and str(folder) in str(arguments):
            count += 1
            if count == step:
                os._exit(DIED)

    sys.addaudithook(hook)


def folds(words: list[str], folder: Path) -> None:
    """Killed in the second of three folds, and again as soon as the third has begun."""
    assert killed(start([*words, "--out", str(folder)]), (folder / "fold-2" / "checkpoint.safetensors").exists, 0.01)
    first = (folder / "fold-1" / "manifest.json").stat()
    assert killed(start([*words, "--resume", str(folder)]), (folder / "fold-3").exists, 0)
    finish([*words, "--resume", str(folder)])
    again = (folder / "fold-1" / "manifest.json").stat()
    assert (again.st_ino, again.st_mtime_ns) == (first.st_ino, first.st_mtime_ns)  # a finished fold is left alone
    for number in (1, 2, 3):
        print(json.dumps({"learnt": learnt(folder / f"fold-{number}")}), flush=True)


def race(words: list[str], folder: Path, count: int, chance: random.Random) -> None:
    """Two trainings with seeds of their own start in one folder, up to a quarter of a second apart."""
    for _ in range(count):
        shutil.rmtree(folder, ignore_errors=True)
        children = []
        for seed in (1, 2):
            children.append(start([*words, "--set", f"train.seed={seed}", "--out", str(folder)]))
            time.sleep(chance.choice([0, chance.uniform(0, 0.25)]))
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        record, manifest = (json.loads((folder / name).read_text()) for name in ("run.json", "manifest.json"))
        seeds = [record["config"]["train"]["seed"], manifest["seed"]]
        print(json.dumps({"codes": codes, "seeds": seeds, "learnt": learnt(folder)}), flush=True)


@contextlib.contextmanager
def workers_in_environment(count: int) -> Iterator[None]:
    os.environ["GTEA_WORKERS"] = str(count)
    try:
        yield
    finally:
        del os.environ["GTEA_WORKERS"]


def main() -> None:
    folder, mode, count, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    words, whole = sys.argv[6:], folder / "whole"
    with workers_in_environment(0):  # no threads before the first fork
        assert run([*words, "--out", str(folder / "warm")]) == 0
    started = time.monotonic()
    finish([*words, "--out", str(whole)])
    seconds = time.monotonic() - started
    for made in [whole] if mode != "folds" else [whole / f"fold-{number}" for number in (1, 2, 3)]:
        print(json.dumps({"learnt": learnt(made)}), flush=True)
    if mode == "kills":
        kills(words, folder / "killed", count, random.Random(seed), seconds)
    elif mode == "steps":
        steps(words, folder / "killed")
    elif mode == "folds":
        folds(words, folder / "killed")
    elif mode == "race":
        race(words, folder / "raced", count, random.Random(seed))
    else:
        for workers in range(count):
            with workers_in_environment(workers):
                finish([*words, "--out", str(folder / f"w{workers}")])
            print(json.dumps({"learnt": learnt(folder / f"w{workers}")}), flush=True)


main()
