"""Nothing that is opened can hurt: damaged and forged inputs are refused, or change nothing that a digest covers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def campaign(*words: object) -> subprocess.CompletedProcess[str]:
    """In a process of its own: one without threads, which can be forked."""
    return subprocess.run(
        [sys.executable, "-m", "tests.fuzz.campaign", *map(str, words)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_mutated_inputs_end_well(tmp_path: Path) -> None:
    """A short campaign, the same each time. ``make fuzz`` runs longer ones."""
    done = campaign("--executions", 1000, "--minutes", 10, "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1,000 executions" in done.stdout


def test_a_finding_is_replayed(tmp_path: Path) -> None:
    """Here a settings file with another learning rate."""
    (tmp_path / "finding.json").write_text(json.dumps({"target": "settings"}))
    for name, rate in (("original", 0.1), ("input", 0.2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "settings.toml").write_text(f"[train]\nlr = {rate}\n")
    done = campaign("--replay", tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}: another result\n"), done.stderr
