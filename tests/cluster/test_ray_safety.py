"""What an outsider can do to a cluster that gtea starts, and what leaves the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.namespaces import Machines, unavailable

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
STARTED = """
import json, os, stat, subprocess, sys
from pathlib import Path
from gtea.cluster.ray_tasks import RayTasks

STRANGER = '''
import sys
import ray
try:
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level="error")
    print("joined")
except BaseException as error:
    print(type(error).__name__, " ".join(str(error).split())[:200])
'''

before = dict(os.environ)
found = {}
with RayTasks(None, num_cpus=1)._cluster() as ray:
    token = Path(os.environ["RAY_AUTH_TOKEN_PATH"])
    found["token"] = stat.S_IMODE(token.stat().st_mode)
    found["folder"] = stat.S_IMODE(token.parent.stat().st_mode)
    found["address"] = ray.get_runtime_context().gcs_address
    ours, theirs = set(), set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes().split(b"\\0")
                if b"RAY_AUTH_TOKEN_PATH=" + str(token).encode() in environment:
                    ours |= {os.readlink(link) for link in (entry / "fd").iterdir()}
                    theirs |= {each.decode() for each in environment if each.startswith(b"RAY_USAGE")}
            except OSError:
                pass
    found["usage"] = sorted(theirs)
    listening = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in ours:
                listening.append(words[1].split(":")[0])
    found["listening"] = sorted(set(listening))
    wrong = token.with_name("wrong")
    wrong.write_text("f" * 64)
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    strangers = {
        "without": {**plain, "RAY_AUTH_MODE": "disabled", "HOME": "/nowhere"},
        "another": {**os.environ, "RAY_AUTH_TOKEN_PATH": str(wrong)},
        "own": dict(os.environ),
    }
    asked = {
        name: subprocess.Popen(
            [sys.executable, "-c", STRANGER, found["address"]], env=settings, stdout=-1, stderr=-3, text=True
        )
        for name, settings in strangers.items()
    }
    found["strangers"] = {name: process.communicate(timeout=200)[0].strip() for name, process in asked.items()}
found["left"] = [token.parent.exists(), dict(os.environ) == before]
print(json.dumps(found))
"""
TASK = """
import json, sys
from pathlib import Path
from gtea.cluster.ray_tasks import RayTasks
from gtea.cluster.tasks import FileTask

task = FileTask("node", "gtea.cluster.node_facts:inspect_node")
print(json.dumps(RayTasks(None, num_cpus=1).on_each_node(task, Path(sys.argv[1]))))
"""
HELLO = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'hello', ('198.51.100.1', 9))"


@pytest.fixture
def machine() -> Iterator[Machines]:
    """A machine with a way out on which everything is counted."""
    if (reason := unavailable()) is not None:
        if os.environ.get("GTEA_NAMESPACES") == "on":
            pytest.fail(reason)
        pytest.skip(reason)
    with Machines(1) as machines:
        machines.open_drain(0)
        yield machines


@pytest.mark.slow
def test_what_is_started_here_is_for_this_user_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STARTED], env=ENVIRONMENT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    assert (found["token"], found["folder"]) == (0o600, 0o700)
    assert found["usage"] == ["RAY_USAGE_STATS_ENABLED=0", "RAY_USAGE_STATS_REPORT_URL=http://127.0.0.1:9/"]
    assert found["address"].startswith("127.0.0.1:")
    assert found["listening"]
    assert set(found["listening"]) <= {"0100007F", "0000000000000000FFFF00000100007F"}  # 127.0.0.1, also as IPv6
    assert found["left"] == [False, True]
    assert found["strangers"]["own"] == "joined"
    for name in ("without", "another"):
        assert found["strangers"][name].startswith("ConnectionError"), found["strangers"]


@pytest.mark.slow
def test_nothing_leaves_the_machine(machine: Machines, tmp_path: Path) -> None:
    """Ray starts, runs a task and ends where every packet that would leave is counted. So is one that tries."""
    log = tmp_path / "log"
    with log.open("wb") as stream:
        command = [sys.executable, "-c", TASK, tmp_path / "work"]
        assert machine.start(0, command, ENVIRONMENT, stream).wait(600) == 0, log.read_text()[-3000:]
        assert "[{}]" in log.read_text()
        assert machine.drained(0) == 0
        assert machine.start(0, [sys.executable, "-c", HELLO], ENVIRONMENT, stream).wait(60) == 0
    assert machine.drained(0) == 1
