"""Ray: three nodes on one machine, of which one is killed; and what a cluster that is started here lets others do."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.conftest import CUT, GRAIN, Case

from gtea.cluster import ray_tasks
from gtea.errors import UsageError

ROOT = Path(__file__).parents[2]


def python(*words: object) -> Any:
    """The JSON that a Python process prints last."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *map(str, words)], env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_ray_is_installed_where_the_tests_run() -> None:
    """The extra dev brings it: without it, nothing below would say anything."""
    import importlib.util

    assert importlib.util.find_spec("ray") is not None, "ray is missing: pip install -e '.[dev]'"


@pytest.mark.slow
def test_three_nodes_give_the_same_bytes_though_a_worker_and_a_node_are_killed(plain_case: Case) -> None:
    model, out = plain_case.model("gtea-l"), plain_case.out / "ray.parquet"
    words = (model, plain_case.store, out, CUT, *vars(GRAIN).values())
    found = python(ROOT / "tests/cluster/ray_driver.py", *words)
    assert found["killed"] == ["worker", "node"]
    assert out.read_bytes() == plain_case.expected(model)


OWN = """
import json, os, stat
from pathlib import Path
from gtea.cluster.node_facts import node_facts
from gtea.cluster.ray_tasks import RayTasks
from gtea.cluster.tasks import FileTask, made_by

before = dict(os.environ)
carrier, found = RayTasks(None, num_cpus=1), {}
with carrier._cluster() as ray:
    token = Path(os.environ["RAY_AUTH_TOKEN_PATH"])
    found["token"] = stat.S_IMODE(token.stat().st_mode)
    found["folder"] = stat.S_IMODE(token.parent.stat().st_mode)
    found["usage"] = [os.environ[name] for name in ("RAY_USAGE_STATS_ENABLED", "RAY_USAGE_STATS_REPORT_URL")]
    found["address"] = ray.get_runtime_context().gcs_address
    ours = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if str(token).encode() in (entry / "environ").read_bytes():
                    ours |= {os.readlink(link) for link in (entry / "fd").iterdir()}
            except OSError:
                pass
    listening = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in ours:
                listening.append(words[1].split(":")[0])
    found["listening"] = sorted(set(listening))
found["left"] = [token.parent.exists(), dict(os.environ) == before]
print(json.dumps(found))
"""


@pytest.mark.slow
def test_what_is_started_here_is_for_this_user_alone() -> None:
    found = python("-c", OWN)
    assert (found["token"], found["folder"]) == (0o600, 0o700)
    assert found["usage"] == ["0", "http://127.0.0.1:9/"]
    assert found["address"].startswith("127.0.0.1:")
    assert found["listening"]
    assert set(found["listening"]) <= {"0100007F", "0000000000000000FFFF00000100007F"}  # 127.0.0.1, also as IPv6
    assert found["left"] == [False, True]


def test_without_ray_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match="--on ray: needs the package ray"):
        ray_tasks.RayTasks(None).run([], Path(), lambda stage, done: None)


def test_the_one_module_that_knows_ray_is_short() -> None:
    source = ROOT / "src/gtea"
    assert len((source / "cluster/ray_tasks.py").read_text().splitlines()) <= 200
    known = [
        path for path in source.rglob("*.py") if "import ray" in path.read_text() or "from ray" in path.read_text()
    ]
    assert [path.name for path in known] == ["ray_tasks.py"]


def test_a_token_is_readable_by_its_user_alone(tmp_path: Path) -> None:
    made = ray_tasks._alone_in(tmp_path)
    assert stat.S_IMODE(Path(made["RAY_AUTH_TOKEN_PATH"]).stat().st_mode) == 0o600
