"""A search that is killed with kill -9 at any moment and resumed tries the same and finds the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).with_name("killed_search_driver.py")
ROOT = Path(__file__).parents[3]
# Sums are the same to the last bit with the same number of threads only.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "GTEA_CHECKPOINT_SECONDS": "0"}
ENVIRONMENT["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "count"), [("kills", 8), ("steps", 16)])
def test_killed_and_resumed(data: Path, tmp_path: Path, mode: str, count: int) -> None:
    command = [sys.executable, str(DRIVER), str(data), str(tmp_path), mode, str(count), "1"]
    run = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"
    whole, *others = (json.loads(line) for line in run.stdout.splitlines())
    assert {trial["state"] for trial in whole["left"]["trials"]} == {"finished", "pruned"}
    assert sum(other["struck"] for other in others) >= count
    for other in others:
        assert other["left"] == whole["left"], other
