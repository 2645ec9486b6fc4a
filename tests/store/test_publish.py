"""Killed at any moment: no store, or a whole one; nothing that was finished is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

DRIVER = Path(__file__).with_name("crash_driver.py")


def outcomes(folder: Path, mode: str, count: int, seed: int) -> Counter[str]:
    command = [sys.executable, str(DRIVER), str(folder), mode, str(count), str(seed)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    lines: list[dict[str, Any]] = [json.loads(line) for line in run.stdout.splitlines()]
    whole = lines.pop(0)
    first, both = whole["first"], whole["both"]
    allowed = {"ingest": {None, first}, "overwrite": {both, first}, "append": {first, both}}
    before = {"ingest": None, "overwrite": both, "append": first}
    seen: Counter[str] = Counter()
    kind = ""
    for line in lines:
        if "kind" in line:
            kind = line["kind"]
        elif "retry" in line:
            assert line == {"retry": 0, "left": ["store"], "found": first}
        else:
            assert line["found"] in allowed[kind], (kind, line)
            if line["exit"] == 0:  # it had finished: what it made must be there
                assert line["found"] != before[kind]
            seen["finished" if line["exit"] == 0 else "old" if line["found"] == before[kind] else "new"] += 1
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_kill_9_at_random_moments(tmp_path: Path, seed: int) -> None:
    seen = outcomes(tmp_path, "random", 102, seed)
    assert seen.total() == 102
    assert seen["old"] > 20  # the kills did strike while work was under way


@pytest.mark.slow
def test_death_before_every_single_file_operation(tmp_path: Path) -> None:
    seen = outcomes(tmp_path, "every-step", 330, 0)
    assert seen["old"] > 100
    assert seen["new"] > 0  # some die after publication: then the new store must be whole
    assert seen["finished"] > 0  # the steps were all tried: the last ones come after the end
