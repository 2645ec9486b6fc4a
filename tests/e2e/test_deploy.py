"""The files that start gtea serve elsewhere, as far as they can be tested without systemd or Docker running."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy" / "gtea-serve.service"
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
SYSTEMD = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")


@SYSTEMD
def test_systemd_finds_no_fault_in_the_unit(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("gtea")
    assert command.exists()
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/gtea/bin/gtea", str(command)))
    verified = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
    assert (verified.returncode, verified.stderr) == (0, "")


@SYSTEMD
def test_the_unit_can_reach_little() -> None:
    """An exposure of 10 is a service without any limit, 2 is a tight one."""
    words = ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", str(UNIT)]
    found = subprocess.run(words, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout[-200:] + found.stderr


def lines_of_dockerfile() -> list[str]:
    text = re.sub(r"\\\n\s*", "", DOCKERFILE.read_text())
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_what_the_image_copies_is_there_and_not_ignored() -> None:
    ignored = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text().splitlines()
    copied = [line.split()[1:-1] for line in lines_of_dockerfile() if line.startswith("COPY ") and "--from" not in line]
    for name in (name for names in copied for name in names):
        assert (ROOT / name).exists(), name
        assert f"!{name}" in ignored


def test_the_image_runs_as_nobody_in_particular_and_gets_signals() -> None:
    lines = lines_of_dockerfile()
    (entry,) = (line.removeprefix("ENTRYPOINT ") for line in lines if line.startswith("ENTRYPOINT "))
    assert json.loads(entry) == ["gtea", "serve"]
    (check,) = (line.split(" CMD ")[1] for line in lines if line.startswith("HEALTHCHECK "))
    compile(json.loads(check)[2], "healthcheck", "exec")
    assert lines.index("USER 10001") < lines.index(f"ENTRYPOINT {entry}")
