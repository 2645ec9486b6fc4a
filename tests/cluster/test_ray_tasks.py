"""Ray: three nodes on one machine without namespaces, of which one is killed; and what is refused."""

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
from tests.cluster.namespaces import unavailable

from gtea.cluster import ray_tasks
from gtea.errors import StoreError, UsageError

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
@pytest.mark.skipif(unavailable() is None, reason="test_killed_cluster.py has machines with addresses of their own")
def test_three_nodes_give_the_same_bytes_though_a_worker_and_a_node_are_killed(plain_case: Case) -> None:
    model, out = plain_case.model("gtea-l"), plain_case.out / "ray.parquet"
    words = (model, plain_case.store, out, CUT, *vars(GRAIN).values())
    found = python(ROOT / "tests/cluster/ray_driver.py", *words)
    assert found["killed"] == ["worker", "node"]
    assert out.read_bytes() == plain_case.expected(model)


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


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [
        (
            None,
            Exception("The current node timed out during startup."),
            r"can't start Ray here \(The current",
        ),
        ("10.0.0.5:6379", ConnectionError(""), r"can't connect \(ConnectionError\)\. Check the address, the token"),
    ],
)
def test_ray_that_does_not_start_or_answer(
    monkeypatch: pytest.MonkeyPatch, address: str | None, error: Exception, message: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("ray.init", fail)
    with pytest.raises(StoreError, match=message):
        ray_tasks.RayTasks(address).run([], Path(), lambda stage, done: None)
