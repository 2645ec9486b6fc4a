"""gtea reproduce few-labels in a tiny world: killed, resumed, compared, and not done twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
GTEA = Path(sys.executable).with_name("gtea")


@pytest.mark.slow
def test_killed_it_goes_on_to_curves(gtea: Run, tmp_path: Path) -> None:
    words = ["reproduce", "few-labels", "--data", "world:tiny", "--sizes", "10", "40", "--draws", "2"]
    words += ["--out", str(tmp_path)]
    running = subprocess.Popen(
        [str(GTEA), *words, "--jobs", "2"], env={**os.environ, "OMP_NUM_THREADS": "2"}, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 600
    while len(list(tmp_path.glob("runs/*/*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    running.kill()
    running.wait()
    done = {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*/*.json")}
    assert 2 <= len(done) < 12

    first = gtea(*words, "--json")
    assert first.code == 0, first.err
    assert len(first.err.splitlines()) <= 12 - len(done)
    assert "world:tiny strong-tree, 40 per class, draw 2: macro f1 0." in first.err
    assert {path: path.stat().st_mtime_ns for path in done} == done
    found = json.loads(first.out)
    assert [(each["data"], each["per_class"]) for each in found["sizes"]] == [("world:tiny", 10), ("world:tiny", 40)]
    for each, left in zip(found["sizes"], (280, 220), strict=True):
        assert each["test"]["examples"] == left
        share = each["test"]["positive"] / left
        assert each["figures"]["hybrid"]["average_precision"]["mean"] > 1.2 * share
        for metric, difference in each["differences"].items():
            ours, rival = (each["figures"][name][metric]["mean"] for name in ("hybrid", difference["rival"]))
            assert difference["difference"] == pytest.approx(ours - rival)
            assert difference["low"] <= difference["difference"] <= difference["high"]
    assert [Path(name).name for name in found["files"][:2]] == ["few-labels.md", "few-labels.json"]

    again = gtea(*words)
    assert (again.code, again.err) == (0, "")
    assert "By average precision: ahead at " in again.out
    assert "| world:tiny | 40 | 220 (" in (tmp_path / "few-labels.md").read_text()
