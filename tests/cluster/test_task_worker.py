"""A worker process: lines in, lines out, and an end when nobody listens."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from gtea.cluster.tasks import FileTask, made_by, to_json


def test_a_task_in_and_an_outcome_out(tmp_path: Path) -> None:
    task = to_json(FileTask("node", "gtea.cluster.node_facts:inspect_node"))
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "gtea.cluster.task_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"folder": str(tmp_path), "task": task}) + "\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline()) == {}
    assert made_by(tmp_path, "node").facts["host"]
    process.stdin.close()
    assert process.wait(timeout=60) == 0
    process.stdout.close()
