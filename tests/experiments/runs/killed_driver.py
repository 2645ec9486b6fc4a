"""Runs experiments in children that are killed and begun again, and says what each left. For test_run_jobs.py.

usage: killed_driver.py FOLDER COUNT SEED -- WORDS OF gtea reproduce

Children are forked after one quiet experiment, when everything is imported and compiled. Each is killed with kill -9,
at a random moment, three times; the fourth child goes on to the end. One JSON line an experiment goes to standard
output.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

from gtea.cli.main import main as gtea

TIMES = ("seconds", "interrupted", "created")


def run(words: list[str], out: Path) -> int:
    """An experiment in this process; gives its exit code."""
    with Path(os.devnull).open("w") as nobody, contextlib.redirect_stdout(nobody), contextlib.redirect_stderr(nobody):
        try:
            gtea([*words, "--out", str(out)])
        except SystemExit as stop:
            return int(stop.code or 0)


def start(words: list[str], out: Path) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = run(words, out)
        finally:
            os._exit(code)
    return child


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def left(out: Path) -> dict[str, Any]:
    """What was measured, but for times, and the names of all that is there."""
    runs = {path.stem: json.loads(path.read_text()) for path in sorted((out / "runs").glob("*/*.json"))}
    found = {stem: {name: value for name, value in run.items() if name not in TIMES} for stem, run in runs.items()}
    names = sorted(str(path.relative_to(out)) for path in out.rglob("*"))
    return {"runs": found, "names": names}


def main() -> None:
    folder, count, chance = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    words = sys.argv[sys.argv.index("--") + 1 :]
    assert run(words, folder / "warm") == 0
    began = time.monotonic()
    assert ended(start(words, folder / "whole")) == 0
    seconds = time.monotonic() - began
    print(json.dumps({"left": left(folder / "whole"), "struck": 0}), flush=True)
    while count > 0:
        shutil.rmtree(folder / "killed", ignore_errors=True)
        struck = 0
        for _ in range(3):
            child = start(words, folder / "killed")
            time.sleep(chance.uniform(0, seconds))
            os.kill(child, signal.SIGKILL)
            struck += ended(child) != 0
        assert ended(start(words, folder / "killed")) == 0
        print(json.dumps({"left": left(folder / "killed"), "struck": struck}), flush=True)
        count -= struck


main()
