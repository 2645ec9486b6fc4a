"""gtea reproduce defaults on the tables of --quick: killed, resumed, compared, and not done twice."""

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
CANDIDATES = ["hybrid", "network", "trees", "tree", "strong-tree", "majority"]


@pytest.mark.slow
def test_killed_it_goes_on_and_says_where_the_default_stands(gtea: Run, tmp_path: Path) -> None:
    words = ["reproduce", "defaults", "--quick", "--out", str(tmp_path)]
    running = subprocess.Popen(
        [str(GTEA), *words, "--jobs", "2"], env={**os.environ, "OMP_NUM_THREADS": "2"}, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 600
    while len(list(tmp_path.glob("runs/*/*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    running.kill()
    running.wait()
    assert (tmp_path / "defaults.md").exists()  # as far as it was known
    done = {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*/*.json")}
    assert 2 <= len(done) < 9

    first = gtea(*words, "--json")
    assert first.code == 0, first.err
    assert len(first.err.splitlines()) <= 9 - len(done)
    assert {path: path.stat().st_mtime_ns for path in done} == done
    found = json.loads(first.out)
    assert [table["name"] for table in found["tables"]] == ["world:tiny", "world:tiny:folds", "world:tiny:links"]
    for table in found["tables"]:
        assert list(table["figures"]) == CANDIDATES
        assert (
            table["figures"]["hybrid"]["average_precision"]["mean"]
            > 1.2 * (table["figures"]["majority"]["average_precision"]["mean"])
        )
        for metric, difference in table["differences"].items():
            ours, rival = (table["figures"][name][metric]["mean"] for name in ("hybrid", difference["rival"]))
            assert difference["difference"] == pytest.approx(ours - rival)
            assert difference["low"] <= difference["difference"] <= difference["high"]

    again = gtea(*words)
    assert (again.code, again.err) == (0, "")
    assert "By average precision: ahead in " in again.out
    page = (tmp_path / "defaults.md").read_text()
    assert "| world:tiny:links |" in page
    assert json.loads((tmp_path / "defaults.json").read_text())["verdicts"] == found["verdicts"]
    assert (tmp_path / "defaults.png").exists()
