"""The examples run as a reader would run them, on less data."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
SAYS = {
    "01_csv_to_ranked_accounts.py": r"<gtea\.Store payments\.store: 200 nodes.*\n(0\.\d+  A\d+  \w+\n){10}$",
    "02_scikit_learn.py": r"average precision .*\nlstm .*\nstatistics .*\nlogistic regression on embeddings of 32",
    "03_links.py": r"pairs, \d+ of which have a payment in April.*\nMay: ROC-AUC 0\.\d+",
    "04_calibrated.py": r"plain +0\.\d+ .*\ncalibrated +0\.\d+ ",
    "05_attention.py": r"and its partners\n[01]\.\d+  A\d+  \d+ payments",
}


def test_the_readme_names_every_example() -> None:
    assert {path.name for path in SCRIPTS} == set(SAYS)
    named = re.findall(r"examples/(\w+\.py)", (ROOT / "README.md").read_text())
    assert set(named) == set(SAYS)


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_runs(script: Path, tmp_path: Path) -> None:
    lines = script.read_text().splitlines()
    assert 20 <= len(lines) <= 45
    command = [sys.executable, "-W", "error", str(script), "200", "1"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr
    assert re.search(SAYS[script.name], done.stdout), done.stdout
